from itertools import pairwise

import numpy as np
import pytest
import torch
from gpytorch.likelihoods import NegativeBinomialLikelihood
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch.distributions import Normal

from gpvae.likelihoods import predictive as marginals
from gpvae.metrics import ECE
from gpvae.metrics.calibration import empirical_quantiles, seeded_samples


def forecast(num_points: int, sharpness: float = 1.0, seed: int = 0) -> tuple[Normal, torch.Tensor]:
    """Forecasts with standard deviations too small by a factor `sharpness`, and targets."""
    generator = np.random.default_rng(seed)
    mean, scale = generator.normal(size=num_points), generator.uniform(0.5, 2, num_points)
    target = mean + sharpness * scale * generator.normal(size=num_points)
    return Normal(torch.tensor(mean), torch.tensor(scale)), torch.tensor(target)


def score(predictive: Normal, target: torch.Tensor, cuts: list[int] | None = None, **options: int) -> float:
    ece = ECE(**options)
    edges = [0, *sorted(cuts or []), len(target)]
    for low, high in pairwise(edges):
        ece.update(Normal(predictive.loc[low:high], predictive.scale[low:high]), target[low:high])
    return ece.compute().item()


def test_definition_in_plain_numpy() -> None:
    predictive, target = forecast(300, sharpness=1.7)
    captured = []

    class Recorded(Normal):
        def sample(self, shape: torch.Size = torch.Size()) -> torch.Tensor:  # noqa: B008
            captured.append(super().sample(shape))
            return captured[-1]

    ece = ECE()
    ece.update(Recorded(predictive.loc, predictive.scale), target)
    samples, y = captured[0].numpy(), target.numpy()
    assert samples.shape == (100, 300)
    errors = []
    for level in (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95):
        low, high = np.quantile(samples, (1 - level) / 2, axis=0), np.quantile(samples, (1 + level) / 2, axis=0)
        errors.append(abs(np.mean((low <= y) & (y <= high)) - level))
    assert ece.compute().item() == pytest.approx(np.mean(errors), abs=1e-12)


@pytest.mark.parametrize("shape", [(100,), (100, 4), (2, 3, 5)])
def test_quantiles_agree_with_numpy(shape: tuple[int, ...]) -> None:
    samples = np.random.default_rng(1).normal(size=shape)
    p = np.array([0.0, 0.025, 0.31, 0.5, 0.975, 1.0])
    ours = empirical_quantiles(torch.tensor(samples), torch.tensor(p))
    np.testing.assert_allclose(ours, np.quantile(samples, p, axis=0), rtol=1e-12)


def test_error_is_near_zero_for_calibrated_forecasts_and_large_for_overconfident_ones() -> None:
    assert score(*forecast(5000)) < 0.025
    levels = np.arange(0.05, 1, 0.1)
    contained = 1 - 2 * stats.norm.sf(stats.norm.isf((1 - levels) / 2) / 4)
    assert score(*forecast(5000, sharpness=4)) == pytest.approx(np.mean(levels - contained), abs=0.02)


def test_intervals_of_calibrated_counts_contain_enough_of_them() -> None:
    """Closed intervals of a discrete distribution contain more than their level, and less so for larger counts."""
    likelihood = NegativeBinomialLikelihood().double()
    predictive = marginals(likelihood, torch.full((1500,), 200.0).double(), torch.ones(1500).double())
    ece = ECE()
    ece.update(predictive, seeded_samples(predictive, 1, seed=5)[0])
    assert ece.compute() < 0.05


def test_the_global_random_state_neither_changes_nor_matters() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first = score(*forecast(50))
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(2)
    assert score(*forecast(50)) == first


def test_result_depends_on_the_batches_but_not_on_their_order() -> None:
    ece = ECE()
    (one, y), (two, z) = forecast(40, seed=1), forecast(40, seed=2)
    ece.update(one, y)
    ece.update(two, z)
    expected = ece.compute().item()
    ece.reset()
    ece.update(two, z)
    ece.update(one, y)
    assert ece.compute().item() == expected
    by_forward = ECE()
    by_forward(one, y)
    by_forward(two, z)
    assert by_forward.compute().item() == expected


@pytest.mark.parametrize("error", [1e-16, 1e-14, 1e-12])
def test_the_last_bits_of_predictions_do_not_matter(error: float) -> None:
    """Predictions differ in their last bits on another number of threads or another machine."""
    predictive, target = forecast(500)
    noise = 1 + error * torch.randn(500, generator=torch.Generator().manual_seed(1)).double()
    rounded = Normal(predictive.loc * noise, predictive.scale * noise)
    assert score(rounded, target, seed=4) == score(predictive, target, seed=4)
    likelihood = NegativeBinomialLikelihood().double()
    counts = [marginals(likelihood, mean, torch.ones(500).double()) for mean in (predictive.loc, rounded.loc)]
    first, second = (ECE() for _ in counts)
    first.update(counts[0], target.abs().round())
    second.update(counts[1], target.abs().round())
    assert first.compute() == second.compute()


def test_another_seed_draws_other_samples() -> None:
    assert len({score(*forecast(200), seed=seed) for seed in range(4)}) > 1


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 2000), max_size=20))
def test_other_batches_change_the_result_by_noise_only(cuts: list[int]) -> None:
    assert score(*forecast(2000), cuts=cuts) == pytest.approx(score(*forecast(2000)), abs=0.015)


def test_batches_of_one_point_draw_independent_samples() -> None:
    """With the same noise for every point, errors of the quantiles would not average out."""
    predictive, target = forecast(3000)
    same = Normal(torch.zeros(3000), torch.ones(3000))
    residuals = (target - predictive.loc) / predictive.scale
    assert score(same, residuals.float(), cuts=list(range(1, 3000))) < 0.025


@pytest.mark.parametrize("options", [{"num_levels": 0}, {"num_samples": 1}])
def test_too_few_levels_or_samples_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least two samples"):
        ECE(**options)
