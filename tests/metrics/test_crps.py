"""The CRPS against its integral, its sum over pairs, and torchmetrics."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, NegativeBinomial, Normal
from torchmetrics.regression import ContinuousRankedProbabilityScore

from gpvae.metrics import CRPS, equal_mixture


def by_integration(cdf: Tensor, grid: Tensor, target: float) -> float:
    return float(torch.trapezoid((cdf - (grid >= target).double()) ** 2, grid))


def by_pairs(mean: Tensor, scale: Tensor, target: Tensor) -> Tensor:
    """E|Y - y| - ½ E|Y - Y'| of mixtures `[N, S]`, over all pairs of components."""

    def distance(offset: Tensor, variance: Tensor) -> Tensor:
        z = offset / variance.sqrt()
        spread = Normal(0.0, 1.0)
        return variance.sqrt() * (z * (2 * spread.cdf(z) - 1) + 2 * spread.log_prob(z).exp())

    own = distance(mean - target[:, None], scale**2).mean(-1)
    variance = scale[:, :, None] ** 2 + scale[:, None, :] ** 2
    return own - 0.5 * distance(mean[:, :, None] - mean[:, None, :], variance).mean((-2, -1))


@pytest.mark.parametrize(("mean", "scale", "target"), [(0.0, 1.0, 0.3), (2.0, 0.1, -1.0), (-1.0, 3.0, 5.0)])
def test_a_normal_distribution_is_scored_in_closed_form(mean: float, scale: float, target: float) -> None:
    predictive = Normal(torch.tensor(mean, dtype=torch.float64), scale)
    grid = torch.linspace(-40, 40, 400_001, dtype=torch.float64)
    expected = by_integration(predictive.cdf(grid), grid, target)
    assert float(CRPS().score(predictive, torch.tensor(target, dtype=torch.float64))) == pytest.approx(
        expected, abs=1e-4
    )


@pytest.mark.parametrize("spread", [0.05, 1.0])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_the_score_of_mixtures_is_that_over_all_pairs(spread: float, noise: float) -> None:
    """The mean over points has no bias; 0.004 is four standard errors of 1,000 points."""
    torch.manual_seed(0)
    mean = torch.randn(1000, 1) + spread * torch.randn(1000, 30)
    scale, target = noise * (0.5 + torch.rand(1000, 30)), torch.randn(1000)
    found = CRPS().score(equal_mixture(Normal(mean, scale)), target)
    exact = by_pairs(mean.double(), scale.double(), target.double())
    assert float(found.double().mean()) == pytest.approx(float(exact.mean()), abs=0.004)
    assert float((found - exact).abs().max()) < 0.3 * math.hypot(spread, noise)


def test_a_mixture_with_unequal_weights_is_scored_exactly() -> None:
    mean, scale = torch.tensor([-1.0, 0.5, 3.0], dtype=torch.float64), torch.tensor([0.3, 1.0, 0.1]).double()
    weights = torch.tensor([0.2, 0.7, 0.1], dtype=torch.float64)
    grid = torch.linspace(-20, 20, 400_001, dtype=torch.float64)
    cdf = (weights * Normal(mean, scale).cdf(grid[:, None])).sum(-1)
    mixture = MixtureSameFamily(Categorical(weights), Normal(mean, scale))
    for target in (-2.0, 0.4, 3.0):
        score = CRPS().score(mixture, torch.tensor(target, dtype=torch.float64))
        assert float(score) == pytest.approx(by_integration(cdf, grid, target), abs=2e-4)


def test_the_score_of_a_point_does_not_depend_on_its_batch_or_on_random_numbers_drawn_before() -> None:
    torch.manual_seed(0)
    mean, target = torch.randn(20, 10), torch.randn(20)
    whole = CRPS().score(equal_mixture(Normal(mean, 0.5)), target)
    torch.rand(3)
    parts = [CRPS().score(equal_mixture(Normal(mean[i : i + 1], 0.5)), target[i : i + 1]) for i in range(20)]
    torch.testing.assert_close(torch.cat(parts), whole, rtol=0, atol=0)


def test_components_without_spread_are_an_ensemble_as_torchmetrics_scores_it() -> None:
    torch.manual_seed(0)
    members, target = torch.randn(50, 20), torch.randn(50)
    ours = CRPS().score(equal_mixture(Normal(members, 1e-7)), target).mean()
    theirs = ContinuousRankedProbabilityScore()(members, target)
    assert float(ours) == pytest.approx(float(theirs), abs=1e-5)


def test_counts_are_scored_by_samples() -> None:
    torch.manual_seed(0)
    predictive = NegativeBinomial(torch.full((2000,), 5.0), torch.full((2000,), 0.5))
    target = predictive.sample()
    counts = torch.arange(200.0)
    pmf = NegativeBinomial(torch.tensor(5.0), torch.tensor(0.5)).log_prob(counts).exp()
    exact = ((pmf.cumsum(0) - (counts >= target[:, None]).float()) ** 2).sum(-1)
    assert float(CRPS().score(predictive, target).mean()) == pytest.approx(float(exact.mean()), abs=0.02)
