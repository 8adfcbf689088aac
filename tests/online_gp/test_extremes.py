"""Extreme kernels, noise, targets and gaps: results are finite, and correct where they can be."""

import pytest
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, NegativeBinomialLikelihood, PoissonLikelihood
from torch import Tensor

from gpvae import OnlineGP
from gpvae.inducing import CosS
from tests.toys import FAMILIES, assert_refused, matern, wave

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.JitterWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.HyperparameterWarning"),
]
X, Y = wave(30)


def noisy(noise: float) -> GaussianLikelihood:
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(1e-30))
    likelihood.noise = noise
    return likelihood


def learnt(gp: OnlineGP, x: Tensor, y: Tensor) -> OnlineGP:
    """A model after three tasks; all its results are finite."""
    options = {"steps": 3} if list(gp.inducing.parameters()) else {}
    for inputs, targets in zip(x.split(10), y.split(10), strict=True):
        gp.update(inputs, targets, **options)
    predicted = gp.predict(x)
    for value in (predicted.mean, predicted.variance, gp.bound()):
        assert bool(torch.isfinite(value).all())
    assert bool((gp.latent(x).variance >= 0).all())
    return gp


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("lengthscale", [1e-6, 1e8])
def test_lengthscales_and_noise(family: str, lengthscale: float) -> None:
    for noise in (1e-20, 1e8):
        learnt(OnlineGP(FAMILIES[family](11), matern(lengthscale), noisy(noise)), X, Y)


@pytest.mark.parametrize("what", ["wave", "constant"])
def test_targets_of_any_size_are_fitted_alike(what: str) -> None:
    y = Y if what == "wave" else torch.ones_like(Y)

    def predicted(scale: float) -> Tensor:
        gp = OnlineGP(CosS(20), matern(), noisy(0.1)).fit_hyperparameters(X[:10], scale * y[:10])
        return learnt(gp, X, scale * y).predict(X).mean / scale

    mean = predicted(1.0)
    assert (mean - y).square().mean().sqrt() < (0.4 if what == "wave" else 1e-3)
    for scale in (1e-8, 1e8):
        torch.testing.assert_close(predicted(scale), mean, rtol=0, atol=1e-3)


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"FourierFeatures", "LegSRecurrence"}))
def test_huge_gaps_in_time(family: str) -> None:
    x = torch.cat([X[:10], X[:10] + 1e7, X[:10] + 1e12])
    gp = learnt(OnlineGP(FAMILIES[family](11), matern(), noisy(0.1)), x, Y)
    assert gp.latent([1e6]).stddev.item() == pytest.approx(1.3**0.5, rel=0.1)  # nothing is known in a gap


def test_gaps_of_too_many_steps() -> None:
    gp = OnlineGP(FAMILIES["LegSRecurrence"](11), matern(), noisy(0.1)).update(X, Y)
    assert_refused(
        gp, lambda: gp.update(X + 1e7, Y), r"is 200,000,000 steps of dt=0.05 away.* increase dt, or use LegS"
    )


@pytest.mark.parametrize("likelihood", [PoissonLikelihood, NegativeBinomialLikelihood, BernoulliLikelihood])
def test_counts_and_classes(likelihood: type) -> None:
    largest = 1.0 if likelihood is BernoulliLikelihood else 1e8
    learnt(OnlineGP(CosS(6), matern(), likelihood()), X, torch.where(torch.arange(30) % 2 == 0, 0.0, largest))
