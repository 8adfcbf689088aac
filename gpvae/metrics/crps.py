"""The continuous ranked probability score."""

import math

import torch
from torch import Tensor
from torch.distributions import Distribution, MixtureSameFamily, Normal

from gpvae.metrics.calibration import batch_seed, seeded_samples
from gpvae.metrics.description import MEASURED
from gpvae.metrics.pointwise import PointwiseMean

#: Number of samples of a distribution whose score has no closed form.
NUM_SAMPLES = 100
#: Least number of times that quantiles run through (0, 1) as the target changes by one.
MIN_PACE = 5000.0


class CRPS(PointwiseMean):
    """Continuous ranked probability score, ∫ (P(Y <= z) - 1(y <= z))² dz = E|Y - y| - ½ E|Y - Y'|.

    In the units of the targets, and the absolute error of a forecast without spread. Less sensitive to outliers than
    `NLPD`, and sensitive to calibration, unlike `RMSE`.

    Closed form for a normal distribution. For an equal mixture of S normals, E|Y - y| is exact; E|Y - Y'|, a sum over
    S² pairs of components, is estimated without bias from one draw of each, by sorting. The draws are a function of
    the target alone, so the score of a point does not depend on the others of its batch. Mixtures of normals with other
    weights, of few components, are exact. Other distributions are represented by samples with a seed derived from the
    targets of the batch, see `ECE`.

    Example:
        >>> import torch
        >>> from torch.distributions import Normal
        >>> crps = CRPS()
        >>> crps.update(Normal(torch.zeros(2), torch.ones(2)), torch.tensor([0.0, 1.0]))
        >>> print(f"{crps.compute():.4f}")
        0.4181
    """

    description = MEASURED["crps"]
    higher_is_better = False

    def score(self, predictive: Distribution, target: Tensor) -> Tensor:
        """E|Y - y| - ½ E|Y - Y'|."""
        if isinstance(predictive, Normal):
            distance = mean_distance(predictive.mean - target, predictive.stddev)
            return distance - predictive.stddev / math.sqrt(math.pi)
        parts = predictive.component_distribution if isinstance(predictive, MixtureSameFamily) else None
        if isinstance(parts, Normal) and _equally_weighted(predictive):
            distance = mean_distance(parts.mean - target[..., None], parts.stddev).mean(-1)
            draws = parts.mean + parts.stddev * _standard_draws(target, parts.mean.shape[-1]).to(parts.mean)
            size = draws.shape[-1]
            own = parts.stddev.sum(-1) * (2 / math.sqrt(math.pi))  # E|Y - Y'| within each component
            return distance - 0.5 * (_distances_of_pairs(draws) + own) / size**2
        if isinstance(parts, Normal):
            return _crps_of_mixture(predictive, target)
        draws = seeded_samples(predictive, NUM_SAMPLES, batch_seed(target, 0)).movedim(0, -1)
        distance = (draws - target[..., None]).abs().mean(-1)
        return distance - 0.5 * _distances_of_pairs(draws) / (NUM_SAMPLES * (NUM_SAMPLES - 1))


def _crps_of_mixture(mixture: Distribution, target: Tensor) -> Tensor:
    """The score of a mixture of few normals, by all pairs of components."""
    assert isinstance(mixture, MixtureSameFamily)
    mean, var = mixture.component_distribution.mean, mixture.component_distribution.variance
    weights = mixture.mixture_distribution.probs
    distance = (weights * mean_distance(mean - target[..., None], var.sqrt())).sum(-1)
    pairs = mean_distance(mean[..., :, None] - mean[..., None, :], (var[..., :, None] + var[..., None, :]).sqrt())
    return distance - 0.5 * (weights[..., :, None] * weights[..., None, :] * pairs).sum((-2, -1))


def mean_distance(offset: Tensor, stddev: Tensor) -> Tensor:
    """E|X| of X ~ N(offset, stddev²): s (z (2Φ(z) - 1) + 2φ(z)) with z = offset / s."""
    z = offset / stddev
    density = torch.exp(-0.5 * z * z) * math.sqrt(2 / math.pi)
    return stddev * (z * torch.erf(z * math.sqrt(0.5)) + density)


def _equally_weighted(mixture: Distribution) -> bool:
    assert isinstance(mixture, MixtureSameFamily)
    logits = mixture.mixture_distribution.logits
    return bool((logits == logits[..., :1]).all())


def _standard_draws(target: Tensor, size: int) -> Tensor:
    """For each target, as many draws of a standard normal variable `[..., S]`, a function of the target alone.

    Each is at a quantile that runs many times through (0, 1) as the target changes by one, at a pace of its own.
    """
    pace, start = torch.rand(2, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(target.device)
    quantile = (start + MIN_PACE * (1 + pace) * target.double()[..., None]) % 1.0
    return torch.special.ndtri(quantile.clamp(1e-12, 1 - 1e-12))


def _distances_of_pairs(draws: Tensor) -> Tensor:
    """Σ_ij |x_i - x_j| over the last dimension: in ascending order 2 Σ_i (2i - S + 1) x_i, i from 0."""
    size = draws.shape[-1]
    weights = 2 * torch.arange(size, dtype=draws.dtype, device=draws.device) - (size - 1)
    return 2 * (draws.sort(-1).values * weights).sum(-1)
