"""Distribution functions and quantiles of predictive marginals, including mixtures."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import betainc, ndtr, pdtr, stdtr
from torch import Tensor
from torch.distributions import (
    Bernoulli,
    Distribution,
    Laplace,
    MixtureSameFamily,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
)

Floats = NDArray[np.float64]
Cdf = Callable[[Floats], Floats]

#: Halvings of the interval in which a quantile of a continuous mixture is searched for.
NUM_HALVINGS = 100


class PredictiveMixture(MixtureSameFamily):
    """A mixture that also has quantiles."""

    def icdf(self, value: Tensor) -> Tensor:
        """Quantiles of probabilities that broadcast with the shape of the mixture."""
        return quantile(self, value)


def quantile(y: Distribution, probability: float | Tensor) -> Tensor:
    """The smallest value v with P(y <= v) >= probability, `[N]`.

    Args:
        y: Predictive marginals `[N]`: normal, counts, labels, or a mixture.
        probability: The probability, between 0 and 1, or several that broadcast with `[N]`.
    """
    p = torch.as_tensor(probability, dtype=y.mean.dtype, device=y.mean.device)
    if not bool(((p > 0) & (p < 1)).all()):
        raise ValueError(f"the probability of a quantile must be between 0 and 1, such as 0.05; got {probability}")
    if isinstance(y, Bernoulli):
        return (1 - y.mean < p).to(y.mean)
    if isinstance(y, Normal):
        return y.icdf(p)
    find = _count_quantile if is_count(y) else _continuous_quantile
    return torch.from_numpy(find(_cdf(y), _array(y.mean), _array(y.stddev), _array(p))).to(y.mean)


def is_count(y: Distribution) -> bool:
    """Whether y is a count, or a mixture of counts."""
    return isinstance(_component(y), Poisson | NegativeBinomial)


def with_parameters(y: Distribution, change: Callable[[Tensor], Tensor]) -> Distribution:
    """A distribution of the same type, with changed parameters.

    Args:
        y: The distribution.
        change: Called with each parameter, expanded to the batch shape of y.
    """
    names = [name for name in y.arg_constraints if name in y.__dict__]
    kind: type = type(y)
    return kind(**{name: change(getattr(y, name).expand(y.batch_shape)) for name in names})


def _component(y: Distribution) -> Distribution:
    return _component(y.component_distribution) if isinstance(y, MixtureSameFamily) else y


def _cdf(y: Distribution) -> Cdf:
    """P(y <= k) at values k `[N]`."""
    if isinstance(y, MixtureSameFamily):
        part, weights = _cdf(y.component_distribution), _array(y.mixture_distribution.probs)
        return lambda k: (weights * part(k[..., None])).sum(-1)
    if isinstance(y, Poisson):
        rate = _array(y.rate)
        return lambda k: pdtr(k, rate)
    if isinstance(y, NegativeBinomial):
        total, failure = _array(y.total_count), _array(1 - y.probs)
        return lambda k: betainc(total, k + 1, failure)
    if isinstance(y, Normal | StudentT | Laplace):
        loc, scale = _array(y.loc), _array(y.scale)
        if isinstance(y, StudentT):
            df = _array(y.df)
            return lambda k: stdtr(df, (k - loc) / scale)
        return lambda k: (ndtr if isinstance(y, Normal) else _laplace_cdf)((k - loc) / scale)
    raise NotImplementedError(f"the distribution function of {type(y).__name__} is not known")


def _laplace_cdf(z: Floats) -> Floats:
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, tail, 1 - tail)


def _count_quantile(cdf: Cdf, mean: Floats, stddev: Floats, probability: Floats) -> Floats:
    """The smallest count k with P(y <= k) >= probability, by bisection."""
    high = np.ceil(mean / (1 - probability)) + 1  # Markov: P(y > k) <= mean / k
    low = np.full(high.shape, -1.0)  # P(y <= low) < probability <= P(y <= high)
    while bool((high - low > 1).any()):
        middle = np.floor((low + high) / 2)
        enough = cdf(np.maximum(middle, 0.0)) >= probability
        open_ = high - low > 1
        low, high = np.where(open_ & ~enough, middle, low), np.where(open_ & enough, middle, high)
    return high


def _continuous_quantile(cdf: Cdf, mean: Floats, stddev: Floats, probability: Floats) -> Floats:
    """The value with P(y <= k) = probability, by bisection."""
    odds = probability / (1 - probability)  # Cantelli: no further from the mean than this
    low, high = mean - stddev * odds**-0.5, mean + stddev * odds**0.5
    for _ in range(NUM_HALVINGS):
        middle = (low + high) / 2
        enough = cdf(middle) >= probability
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _array(values: Tensor) -> Floats:
    return values.detach().double().cpu().numpy()
