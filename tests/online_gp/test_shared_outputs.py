"""Several outputs that share kernel, noise and precision: the same as a model for each of them."""

from pathlib import Path

import pytest
import torch
from gpytorch.distributions import MultitaskMultivariateNormal
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood, PoissonLikelihood
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from torch import Tensor

from gpvae import Bank, OnlineGP
from gpvae.hyperparameters.marginal_likelihood import exact_log_evidence
from gpvae.inducing import CosS, LegS, PivotedPoints
from gpvae.utils.quantiles import quantile
from tests.toys import gaussian, matern, rbf, snapshot, states_equal, wave

K = 3
S = torch.linspace(0.1, 2.9, 7, dtype=torch.float64)[:, None]


def outputs(num: int = 60) -> tuple[Tensor, Tensor]:
    """Inputs `[N, 1]` and targets `[N, K]`."""
    x, _ = wave(num)
    return x, torch.stack([wave(num, seed=k)[1] + k for k in range(K)], -1)


def shared(family: object = None, **options: object) -> OnlineGP:
    return OnlineGP(family or CosS(20), matern(), gaussian(), num_outputs=K, **options)


def single(family: object = None, **options: object) -> OnlineGP:
    return OnlineGP(family or CosS(20), matern(), gaussian(), **options)


def assert_like_singles(gp: OnlineGP, singles: list[OnlineGP]) -> None:
    found, expected = gp.predict(S), [one.predict(S) for one in singles]
    assert found.mean.shape == found.stddev.shape == (len(S), K)
    torch.testing.assert_close(found.mean, torch.stack([e.mean for e in expected], -1), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found.stddev, torch.stack([e.stddev for e in expected], -1), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(gp.bound(), torch.stack([one.bound() for one in singles]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", [CosS, LegS, PivotedPoints])
@pytest.mark.parametrize("power", [0.0, 0.5])
def test_outputs_are_learnt_as_by_a_model_for_each_with_one_precision(family: type, power: float) -> None:
    x, y = outputs()
    gp, singles = shared(family(20), power=power), [single(family(20), power=power) for _ in range(K)]
    for part in (slice(0, 25), slice(25, 60)):
        gp.update(x[part], y[part])
        for k, one in enumerate(singles):
            one.update(x[part], y[part, k])
    assert_like_singles(gp, singles)
    assert gp.posterior.G.shape == (20, 20)
    assert gp.posterior.h.shape == (K, 20)


def test_missing_values_of_single_outputs_are_left_out() -> None:
    """Outputs that differ in what was observed get precisions of their own."""
    x, y = outputs()
    y[5:9, 1], y[30:33, 2], y[40] = torch.nan, torch.nan, torch.nan
    gp, singles = shared(mean=ZeroMean()), [single(mean=ZeroMean()) for _ in range(K)]
    for part in (slice(0, 25), slice(25, 60)):
        gp.update(x[part], y[part])
        for k, one in enumerate(singles):
            one.update(x[part], y[part, k])
    found = gp.predict(S).mean
    torch.testing.assert_close(found, torch.stack([one.predict(S).mean for one in singles], -1), rtol=1e-7, atol=1e-7)
    assert gp.posterior.G.shape == (K, 20, 20)


def test_known_noise_and_weights_are_those_of_points_or_of_single_targets() -> None:
    x, y = outputs()
    noise = torch.linspace(0.05, 0.3, 60, dtype=torch.float64)
    by_target = noise[:, None] * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    by_point = shared().update(x, y, noise=noise, weights=noise)
    assert_like_singles(by_point, [single().update(x, y[:, k], noise=noise, weights=noise) for k in range(K)])
    assert by_point.posterior.G.ndim == 2
    each = shared().update(x, y, noise=by_target)
    assert_like_singles(each, [single().update(x, y[:, k], noise=by_target[:, k]) for k in range(K)])
    known = each.predict(S, noise=torch.full((len(S),), 0.5)).variance
    torch.testing.assert_close(known, each.latent(S).variance + 0.5)


def test_single_points_wait_and_are_consolidated_together() -> None:
    x, y = outputs(40)
    y[12, 1] = torch.nan
    gp, singles = (
        shared(buffer_size=16, mean=ZeroMean()),
        [single(buffer_size=16, mean=ZeroMean()) for _ in range(K)],
    )
    for i in range(40):
        gp.update(x[i : i + 1], y[i : i + 1])
        for k, one in enumerate(singles):
            if not y[i, k].isnan():
                one.update(x[i : i + 1], y[i : i + 1, k])
            elif len(one.recent) == 15:
                raise AssertionError("the buffers would be flushed at different points")
        if i == 10:
            assert_like_singles(gp, singles)
    for one in (gp, *singles):
        one.consolidate()
    found = gp.predict(S).mean
    expected = torch.stack([one.predict(S).mean for one in singles], -1)
    torch.testing.assert_close(found[:, ::2], expected[:, ::2], rtol=1e-8, atol=1e-8)


def test_hyperparameters_are_those_of_all_outputs_together() -> None:
    """The evidence is the sum over outputs, with its gradient; a mean is fitted to each."""
    x, y = outputs()
    kernel, noise = rbf(), gaussian().noise
    for value in (noise, torch.rand(60, dtype=torch.float64) + 0.1):
        together, alone = (
            exact_log_evidence(kernel, value, x, y.mT),
            [exact_log_evidence(kernel, value, x, y[:, k]) for k in range(K)],
        )
        torch.testing.assert_close(together, sum(alone, torch.zeros(())))
        torch.testing.assert_close(
            torch.autograd.grad(together, kernel.raw_outputscale)[0],
            torch.autograd.grad(sum(alone, torch.zeros(())), kernel.raw_outputscale)[0],
        )
    gp = OnlineGP(CosS(30), ScaleKernel(RBFKernel()), GaussianLikelihood(), num_outputs=K)
    gp.fit_hyperparameters(x, y).update(x, y)
    constants = gp.mean.mean.constant
    torch.testing.assert_close(constants, torch.arange(3.0, dtype=torch.float64), rtol=0, atol=0.7)
    for k in range(K):
        one = OnlineGP(CosS(30), gp.kernel, gp.likelihood, mean=ConstantMean()).update(x, y[:, k])
        torch.testing.assert_close(one.mean.mean.constant, constants[k], rtol=1e-8, atol=1e-8)


def test_draws_joint_predictions_tables_and_pictures_have_a_column_for_each_output() -> None:
    x, y = outputs()
    gp = shared().update(x, y)
    joint, marginals = gp.predict(S, joint=True), gp.predict(S)
    assert isinstance(joint, MultitaskMultivariateNormal)
    torch.testing.assert_close(joint.mean, marginals.mean)
    torch.testing.assert_close(joint.variance, marginals.variance)
    draws = gp.sample(S, 4000, seed=0)
    assert draws.shape == (4000, len(S), K)
    assert gp.sample_targets(S, 2).shape == (2, len(S), K)
    torch.testing.assert_close(draws.mean(0), gp.latent(S).mean, rtol=0, atol=0.05)
    assert gp.latent(S[None].expand(2, -1, -1)).mean.shape == (2, len(S), K)
    assert gp.latent(S[None].expand(2, -1, -1), joint=True).mean.shape == (2, len(S), K)
    assert gp.reconstruct(S).mean.shape == (len(S), K)
    table = gp.predict_table(S[:, 0])
    assert table[2, "q0.05"].to_numpy() == pytest.approx(quantile(marginals, 0.05)[:, 2].numpy())
    assert len(gp.plot().axes[0].lines) == K
    assert "3 outputs" in repr(gp)


@pytest.mark.parametrize("mean", [None, ZeroMean(), LinearMean(1)])
def test_a_model_is_saved_and_loaded(mean: object, tmp_path: Path) -> None:
    x, y = outputs()
    gp = shared(mean=mean).update(x[:50], y[:50])
    gp.update(x[50:51], y[50:51])
    gp.save(tmp_path / "gp.pt")
    loaded = OnlineGP.load(tmp_path / "gp.pt")
    torch.testing.assert_close(loaded.predict(S).mean, gp.predict(S).mean)
    torch.testing.assert_close(loaded.update(x[51:], y[51:]).predict(S).mean, gp.update(x[51:], y[51:]).predict(S).mean)


def test_counts_are_learnt_as_by_a_model_for_each() -> None:
    x, y = outputs(40)
    counts = y.exp().round().clamp(0, 30)
    gp = OnlineGP(CosS(15), matern(), PoissonLikelihood(), num_outputs=K).update(x, counts)
    for k in range(K):
        one = OnlineGP(CosS(15), matern(), PoissonLikelihood()).update(x, counts[:, k])
        torch.testing.assert_close(gp.predict(S).mean[:, k], one.predict(S).mean, rtol=1e-3, atol=1e-3)
    assert gp.predict(S).icdf(torch.tensor(0.5)).shape == (len(S), K)
    OnlineGP(CosS(15), matern(), PoissonLikelihood(), num_outputs=K).update(x, counts, steps=2)


def test_shapes_that_do_not_fit_are_refused() -> None:
    x, y = outputs()
    with pytest.raises(ValueError, match="num_outputs=3"):
        single().update(x, y)
    gp = shared()
    before = snapshot(gp)
    with pytest.raises(ValueError, match=r"y has shape \(3, 60\), expected \(60, 3\)"):
        gp.update(x, y.mT)
    assert states_equal(before, snapshot(gp))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        OnlineGP(CosS(5), matern(), gaussian(), num_outputs=0)
    batched = ScaleKernel(MaternKernel(batch_shape=torch.Size([3])), batch_shape=torch.Size([3]))
    with pytest.raises(ValueError, match="batch shape"):
        OnlineGP(CosS(5), batched, gaussian(), num_outputs=3)
    with pytest.raises(ValueError, match="bank do not share"):
        Bank(CosS(5), matern(), gaussian(), num_outputs=3)
    with pytest.raises(ValueError, match="outputs of shape"):
        single(mean=ZeroMean()).load_state_dict(shared(mean=ZeroMean()).update(x, y).state_dict())
