"""Targets as they come: with a mean, with gaps, with known noise, with weights."""

import math

import pytest
import torch
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import (
    BernoulliLikelihood,
    FixedNoiseGaussianLikelihood,
    GaussianLikelihood,
    PoissonLikelihood,
)
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from torch import Tensor

from gpvae import OnlineGP
from gpvae.inducing import CosS, PivotedPoints
from gpvae.kernels import covariance
from tests.toys import assert_refused, gaussian, matern, model, rbf, snapshot, states_equal, wave

NAN = math.nan
S = torch.linspace(0.1, 2.9, 17, dtype=torch.float64)[:, None]


def exact(kernel: Kernel, x: Tensor, y: Tensor, noise: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of the dense GP."""
    solve = torch.linalg.solve(covariance(kernel, x, x) + noise.diag(), covariance(kernel, x, at)).mT
    return solve @ y, covariance(kernel, at, at).diagonal() - (solve * covariance(kernel, at, x)).sum(-1)


@pytest.mark.parametrize("shift", [280.0, -1e5])
def test_a_constant_added_to_the_targets_is_added_to_the_predictions(shift: float) -> None:
    """The fit of kernel and noise does not see it either."""
    (x, y), scale = wave(90), abs(shift)
    plain, shifted = (OnlineGP(CosS(40), ScaleKernel(RBFKernel()), GaussianLikelihood()) for _ in range(2))
    plain.fit_hyperparameters(x[:40], y[:40])
    shifted.fit_hyperparameters(x[:40], y[:40] + shift)
    for part in (slice(0, 40), slice(40, 70), slice(70, 90)):
        plain.update(x[part], y[part])
        shifted.update(x[part], y[part] + shift)
    expected, found = plain.predict(S), shifted.predict(S)
    torch.testing.assert_close(found.mean, expected.mean + shift, rtol=0, atol=1e-6 * scale)
    torch.testing.assert_close(found.stddev, expected.stddev, rtol=1e-5, atol=0)
    torch.testing.assert_close(
        shifted.sample(S, 3, seed=1), plain.sample(S, 3, seed=1) + shift, rtol=0, atol=1e-5 * scale
    )


def test_a_constant_is_the_estimate_of_generalised_least_squares() -> None:
    """m = 1ᵀK⁻¹y / 1ᵀK⁻¹1; forecasts far ahead return to it."""
    x, y = wave(40)
    gp = OnlineGP(PivotedPoints(40), matern(), gaussian()).update(x, y + 5)
    K = covariance(matern(), x, x) + 0.1 * torch.eye(40, dtype=torch.float64)
    weights = torch.linalg.solve(K, torch.ones(40, dtype=torch.float64))
    expected = weights @ (y + 5) / weights.sum()
    torch.testing.assert_close(gp.mean.mean.constant, expected, rtol=1e-9, atol=0)
    torch.testing.assert_close(gp.latent([1e4]).mean[0], expected, rtol=1e-9, atol=0)


def test_a_linear_mean_takes_a_trend_out() -> None:
    """One Gauss-Newton step is exact, so a stream with a trend is the stream without it, plus the trend."""
    x, y = wave(60)
    trend = 30 - 7 * x[:, 0]
    flat, sloped = (OnlineGP(CosS(30), matern(), gaussian(), mean=LinearMean(1)) for _ in range(2))
    for part in (slice(0, 40), slice(40, 60)):
        flat.update(x[part], y[part])
        sloped.update(x[part], (y + trend)[part])
    torch.testing.assert_close(sloped.latent(S).mean, flat.latent(S).mean + 30 - 7 * S[:, 0], rtol=0, atol=1e-8)


def test_the_mean_stays_once_data_have_been_absorbed() -> None:
    """Sites hold what is left after it, so a fit in the middle of a stream leaves it alone."""
    x, y = wave(60)
    gp = OnlineGP(CosS(30), matern(), gaussian()).update(x[:30], y[:30] + 9)
    before = gp.mean.mean.constant.item()
    gp.fit_hyperparameters(x[30:], y[30:] - 40).update(x[30:], y[30:] + 9)
    assert gp.mean.mean.constant.item() == before


def test_a_given_mean_shifts_the_function_of_counts() -> None:
    """log-rates begin at the mean; without data it is the prediction."""
    mean = ConstantMean()
    mean.constant = 2.0
    gp = OnlineGP(CosS(15), matern(), PoissonLikelihood(), mean=mean)
    assert gp.latent([0.0]).mean.item() == pytest.approx(2.0)
    x = torch.linspace(0, 3, 40, dtype=torch.float64)
    gp.update(x, torch.full((40,), 3.0))
    assert gp.predict([1.5]).mean.item() == pytest.approx(3, rel=0.1)
    assert gp.latent([500.0]).mean.item() == pytest.approx(2.0)


def test_states_without_a_mean_load_as_zero() -> None:
    """States saved before means existed."""
    x, y = wave(30)
    saved = model(CosS(20)).update(x, y)
    loaded = OnlineGP(CosS(20), matern(), gaussian())
    loaded.load_state_dict(saved.state_dict())
    assert torch.equal(loaded.predict(S).mean, saved.predict(S).mean)
    loaded.update(x + 3, y)
    assert torch.equal(loaded.predict(S).mean, saved.update(x + 3, y).predict(S).mean)


@pytest.mark.parametrize("likelihood", [GaussianLikelihood, PoissonLikelihood, BernoulliLikelihood])
def test_missing_targets_are_left_out(likelihood: type) -> None:
    """NaN in y equals a batch without these points, bit for bit."""
    x, y = wave(50)
    y = y if likelihood is GaussianLikelihood else (y > 0).double()
    gaps, without = (OnlineGP(CosS(20), matern(), likelihood()) for _ in range(2))
    kept = torch.arange(50) % 3 > 0
    gaps.update(x, torch.where(kept, y, NAN))
    without.update(x[kept], y[kept])
    assert states_equal(snapshot(gaps), snapshot(without))


def test_outputs_miss_values_of_their_own() -> None:
    """With several outputs, each learns from the points at which it is observed."""
    x, y = wave(40)
    both, shape = torch.stack([y, -0.5 * y]), torch.Size([2])
    kernel = ScaleKernel(RBFKernel(batch_shape=shape), batch_shape=shape)
    gp = OnlineGP(CosS(20), kernel, gaussian(), mean=ZeroMean())
    kept = torch.arange(40) % 4 > 0
    gp.update(x, torch.stack([both[0], torch.where(kept, both[1], NAN)]))
    alone = [OnlineGP(CosS(20), ScaleKernel(RBFKernel()), gaussian(), mean=ZeroMean()) for _ in range(2)]
    for other in alone:  # the same domain: gaps of one output do not shorten that of the other
        other.inducing.load_state_dict(gp.inducing.state_dict())
    alone[0].update(x, both[0])
    alone[1].update(x[kept], both[1, kept])
    expected = torch.stack([other.latent(S).mean for other in alone])
    torch.testing.assert_close(gp.latent(S).mean, expected, rtol=0, atol=1e-8)
    gp.fit_hyperparameters(x, torch.stack([both[0], torch.where(kept, both[1], NAN)]))


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_known_noise_is_that_of_the_dense_gp(power: float) -> None:
    """Noise of each point, over several batches."""
    x = torch.linspace(0, 3, 45, dtype=torch.float64)[:, None]
    noise = 0.003 * 1.17 ** ((7 * torch.arange(45, dtype=torch.float64)) % 45)
    y = torch.sin(2.5 * x[:, 0]) + noise.sqrt() * torch.randn(45, generator=torch.Generator().manual_seed(0)).double()
    gp = OnlineGP(CosS(60), rbf(0.7), gaussian(), mean=ZeroMean(), power=power)
    for part in torch.arange(45).split(15):
        gp.update(x[part], y[part], noise=noise[part])
    mean, var = exact(rbf(0.7), x, y, noise, S)
    torch.testing.assert_close(gp.latent(S).mean, mean, rtol=0, atol=1e-5)
    torch.testing.assert_close(gp.predict(S, noise=0.3).variance, var + 0.3, rtol=0, atol=1e-6)
    torch.testing.assert_close(gp.predict(S).variance, var + 0.1, rtol=0, atol=1e-6)


def test_a_weight_counts_points() -> None:
    """A point of weight three is three points; of weight zero none, in posterior and bound."""
    x, y = wave(30)
    weights = torch.arange(30) % 4
    weighted = model(CosS(20)).update(x, y, weights=weights)
    repeated = model(CosS(20))
    repeated.inducing.load_state_dict(weighted.inducing.state_dict())
    repeated.update(x.repeat_interleave(weights, 0), y.repeat_interleave(weights, 0))
    torch.testing.assert_close(weighted.latent(S).mean, repeated.latent(S).mean, rtol=0, atol=1e-9)
    torch.testing.assert_close(weighted.bound(), repeated.bound(), rtol=1e-10, atol=0)


def test_predictions_of_all_targets_together() -> None:
    """The joint distribution has the marginals of `predict`, and the noise of each point."""
    gp = OnlineGP(CosS(30), matern(), gaussian()).update(*wave(40))
    joint, marginals = gp.predict(S, joint=True), gp.predict(S)
    torch.testing.assert_close(joint.mean, marginals.mean)
    torch.testing.assert_close(joint.covariance_matrix.diagonal(), marginals.variance)
    assert joint.covariance_matrix[0, 1] > 0.05


def test_bad_options_are_refused() -> None:
    """Before anything is changed."""
    gp = OnlineGP(CosS(10), matern(), gaussian())
    x, y = wave(10)
    assert_refused(gp, lambda: gp.update(x, y, noise=-1.0), "noise must be positive; got -1")
    assert_refused(gp, lambda: gp.update(x, y, noise=[1.0, 2.0]), r"noise has shape \(2,\), expected one value or")
    assert_refused(gp, lambda: gp.update(x, y, weights=-y.abs()), "weights must be zero or more")
    counts = OnlineGP(CosS(10), matern(), PoissonLikelihood())
    assert_refused(counts, lambda: counts.update(x, y.abs().round(), noise=1.0), "PoissonLikelihood has none")
    with pytest.raises(ValueError, match="joint and noise are for a Gaussian"):
        counts.predict(x, joint=True)
    with pytest.raises(TypeError, match=r"update\(x, y, noise=...\)"):
        OnlineGP(CosS(10), matern(), FixedNoiseGaussianLikelihood(torch.ones(3)))
