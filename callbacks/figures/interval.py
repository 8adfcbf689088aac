"""Predictive intervals of about 95 %."""

import math

from torch import Tensor
from torch.distributions import Bernoulli, Distribution

from gpvae.utils.quantiles import is_count, quantile

#: Probability of a normal variable more than two standard deviations below its mean.
TAIL = 0.5 * math.erfc(math.sqrt(2.0))


def two_sd_interval(y: Distribution) -> tuple[Tensor, Tensor] | None:
    """Mean ± 2 standard deviations; for counts the quantiles of the same probability; None for labels.

    Args:
        y: Predictive marginals `[N]`.
    """
    if isinstance(y, Bernoulli):
        return None
    if is_count(y):
        return quantile(y, TAIL), quantile(y, 1 - TAIL)
    return y.mean - 2 * y.stddev, y.mean + 2 * y.stddev
