"""`OnlineGP()`: a model in three lines."""

from pathlib import Path

import pytest
import torch
from gpytorch.likelihoods import BernoulliLikelihood

from gpvae import Bank, OnlineGP
from gpvae.inducing import CosS, PivotedPoints
from tests.toys import wave


def test_the_first_batch_fits_the_default_kernel() -> None:
    """The same as `fit_hyperparameters` and `update` with that batch; later batches change nothing."""
    x, y = wave(90)
    gp, explicit = OnlineGP().update(x[:60], y[:60]), OnlineGP().fit_hyperparameters(x[:60], y[:60])
    explicit.update(x[:60], y[:60])
    assert isinstance(gp.inducing, CosS)
    assert gp.inducing.num_inducing == 100
    assert repr(gp) == repr(explicit)
    torch.testing.assert_close(gp.predict(x).mean, explicit.predict(x).mean)
    lengthscale = gp.kernel.base_kernel.lengthscale.clone()
    assert float((gp.update(x[60:], y[60:]).predict(x).mean - y).square().mean()) < 0.2
    assert torch.equal(gp.kernel.base_kernel.lengthscale, lengthscale)


def test_single_points_are_fitted_when_they_are_consolidated() -> None:
    x, y = wave(40)
    gp = OnlineGP(num_inducing=30, buffer_size=32)
    for i in range(40):
        gp.update(x[i : i + 1], y[i : i + 1])
    assert not gp.awaits_fit
    assert gp.kernel.base_kernel.lengthscale.item() != pytest.approx(0.6931, abs=1e-3)


@pytest.mark.parametrize("model", [OnlineGP, Bank])
def test_several_inputs_have_a_lengthscale_each(model: type[OnlineGP]) -> None:
    x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.sin(6 * x[:, 0]) + 0.1 * torch.randn(60, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    gp = model(input_dim=2, num_inducing=40).update(x, y)
    assert isinstance(gp.inducing, PivotedPoints)
    assert float((gp.predict(x).mean - y).square().mean()) < 0.03
    with pytest.raises(ValueError, match=r"input_dim=2|2 input dimension"):
        OnlineGP().update(x, y)


def test_other_likelihoods_and_files(tmp_path: Path) -> None:
    x, y = wave(40)
    gp = OnlineGP(likelihood=BernoulliLikelihood(), num_inducing=20).update(x, (y > 0).double())
    assert not gp.awaits_fit
    with pytest.raises(RuntimeError, match="first batch"):
        OnlineGP().save(tmp_path / "gp.pt")
    gp.save(tmp_path / "gp.pt")
    torch.testing.assert_close(OnlineGP.load(tmp_path / "gp.pt").predict(x).mean, gp.predict(x).mean)
