"""Predictive intervals of about 95 %, and other quantiles."""

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import betainc, pdtr
from torch import Tensor
from torch.distributions import Bernoulli, Distribution, MixtureSameFamily, NegativeBinomial, Poisson

#: Probability of a normal variable more than two standard deviations below its mean.
TAIL = 0.5 * math.erfc(math.sqrt(2.0))

Floats = NDArray[np.float64]


def two_sd_interval(y: Distribution) -> tuple[Tensor, Tensor] | None:
    """Mean ± 2 standard deviations; for counts the quantiles of the same probability; None for labels.

    Args:
        y: Predictive marginals `[N]`.
    """
    if isinstance(y, Bernoulli):
        return None
    cdf = _count_cdf(y)
    if cdf is not None:
        return _count_quantile(cdf, y.mean, TAIL), _count_quantile(cdf, y.mean, 1 - TAIL)
    return y.mean - 2 * y.stddev, y.mean + 2 * y.stddev


def quantile(y: Distribution, probability: float) -> Tensor:
    """The smallest value that y exceeds with no more than the remaining probability `[N]`.

    Args:
        y: Predictive marginals `[N]`: normal, counts or labels.
        probability: The probability of values not above, between 0 and 1.
    """
    if isinstance(y, Bernoulli):
        return (1 - y.mean < probability).to(y.mean)
    cdf = _count_cdf(y)
    if cdf is not None:
        return _count_quantile(cdf, y.mean, probability)
    return y.icdf(y.mean.new_tensor(probability))


def _count_cdf(y: Distribution) -> Callable[[Floats], Floats] | None:
    """P(y <= k) at counts k `[N]`; None unless y is a count or a mixture of counts."""
    if isinstance(y, MixtureSameFamily):
        part = _count_cdf(y.component_distribution)
        weights = _array(y.mixture_distribution.probs)
        return None if part is None else lambda k: (weights * part(k[..., None])).sum(-1)
    if isinstance(y, Poisson):
        rate = _array(y.rate)
        return lambda k: pdtr(k, rate)
    if isinstance(y, NegativeBinomial):
        total, failure = _array(y.total_count), _array(1 - y.probs)
        return lambda k: betainc(total, k + 1, failure)
    return None


def _count_quantile(cdf: Callable[[Floats], Floats], mean: Tensor, probability: float) -> Tensor:
    """The smallest count k with P(y <= k) >= probability, by bisection."""
    low = np.full(mean.shape, -1.0)  # P(y <= low) < probability <= P(y <= high)
    high = np.ceil(_array(mean) / (1 - probability)) + 1  # Markov: P(y > k) <= mean / k
    while bool((high - low > 1).any()):
        middle = np.floor((low + high) / 2)
        enough = cdf(np.maximum(middle, 0.0)) >= probability
        open_ = high - low > 1
        low, high = np.where(open_ & ~enough, middle, low), np.where(open_ & enough, middle, high)
    return torch.from_numpy(high).to(mean.device)


def _array(values: Tensor) -> Floats:
    return values.detach().double().cpu().numpy()
