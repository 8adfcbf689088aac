"""Units of inputs and targets do not matter."""

import pytest
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import (
    GaussianLikelihood,
)

from gpvae import OnlineGP
from gpvae.inducing import CosS, LegS
from tests.toys import FAMILIES, gaussian, matern, model, tasks

S = torch.linspace(0, 3, 11, dtype=torch.float64)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_the_targets_do_not_matter(scale: float) -> None:
    """Through fit_hyperparameters and update: predictions are scaled versions of those for moderate targets."""

    def learnt(factor: float) -> OnlineGP:
        noise = GaussianLikelihood(noise_constraint=GreaterThan(1e-30))
        gp = OnlineGP(CosS(40), ScaleKernel(RBFKernel()), noise)
        (x1, y1), (x2, y2) = tasks(2, 80)
        return gp.fit_hyperparameters(x1, factor * y1).update(x1, factor * y1).update(x2, factor * y2)

    one, other = learnt(1.0), learnt(scale)
    torch.testing.assert_close(other.predict(S).mean / scale, one.predict(S).mean, rtol=0, atol=0.02)
    torch.testing.assert_close(other.predict(S).stddev / scale, one.predict(S).stddev, rtol=0.03, atol=0)


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"FourierFeatures", "LegSRecurrence"}))
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_unix_seconds_are_as_good_as_hours(family: str) -> None:
    """Times near 1.6e9 s with a lengthscale of an hour equal times near 0 h with a lengthscale of 1."""
    start = 1.6e9
    seconds = OnlineGP(FAMILIES[family](25), matern(3600.0), gaussian())
    hours = OnlineGP(FAMILIES[family](25), matern(1.0), gaussian())
    for x, y in tasks(3, 60):
        whole = (3600 * x).round()
        seconds.update(start + whole, y)
        hours.update(whole / 3600, y)
    s = (3600 * S).round()
    torch.testing.assert_close(seconds.latent(start + s).mean, hours.latent(s / 3600).mean, rtol=0, atol=1e-4)
    torch.testing.assert_close(seconds.latent(start + s).variance, hours.latent(s / 3600).variance, rtol=0, atol=1e-4)


def test_targets_of_extreme_size_are_refused_or_right() -> None:
    """1e200 squared overflows: there is an error, or the bound is finite."""
    gp = model(LegS(12))
    try:
        gp.update([0.0, 1.0], [1e200, 1e300])
    except FloatingPointError:
        return
    assert torch.isfinite(gp.bound())
