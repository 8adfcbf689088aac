"""Metrics that are a mean over test points: NLPD, RMSE, coverage and accuracy."""

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution
from torchmetrics import Metric

from gpvae.metrics.description import MEASURED, Description


def check_shapes(predictive: Distribution, target: Tensor) -> None:
    """Raise unless the predictive distribution has exactly one marginal for each target.

    Args:
        predictive: Marginal distributions of shape `[...]`.
        target: Targets of the same shape.

    Raises:
        ValueError: The shapes differ, or the distribution is joint over several targets.
    """
    if predictive.event_shape:
        raise ValueError(
            f"a metric takes marginal distributions, one for each target; {type(predictive).__name__} is joint over "
            f"{tuple(predictive.event_shape)} targets"
        )
    if predictive.batch_shape != target.shape:
        raise ValueError(
            f"predictive distributions of shape {tuple(predictive.batch_shape)} do not match targets of shape "
            f"{tuple(target.shape)}"
        )


class PointwiseMean(Metric):
    """Mean of a score over all points, on all processes, and over each group of points, such as a variable.

    Args:
        num_groups: Number of groups.
        kwargs: Arguments of `torchmetrics.Metric`.
    """

    description: ClassVar[Description]

    is_differentiable = False
    full_state_update = False

    total: Tensor
    count: Tensor

    def __init__(self, num_groups: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_state("total", torch.zeros(num_groups, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros(num_groups, dtype=torch.int64), dist_reduce_fx="sum")

    @abstractmethod
    def score(self, predictive: Distribution, target: Tensor) -> Tensor:
        """The score of each point, of the shape of the targets."""

    @staticmethod
    def finish(mean: Tensor) -> Tensor:
        """The value of the metric for a mean score."""
        return mean

    def update(self, predictive: Distribution, target: Tensor, group: Tensor | None = None) -> None:
        """Add test points.

        Args:
            predictive: Predictive distribution of each target.
            target: Targets, of the same shape.
            group: Index of the group of each target, of the same shape; group 0 by default.
        """
        check_shapes(predictive, target)
        score = self.score(predictive, target).double().flatten()
        index = torch.zeros_like(score, dtype=torch.int64) if group is None else group.flatten()
        self.total = self.total.index_add(0, index, score)
        self.count = self.count.index_add(0, index, torch.ones_like(index))

    def compute(self) -> Tensor:
        """The value over all points so far; NaN if there are none."""
        return self.finish(self.total.sum() / self.count.sum())

    def by_group(self) -> Tensor:
        """The value for each group, `[num_groups]`, on this process unless synced; NaN for a group without points."""
        return self.finish(self.total / self.count)


class NLPD(PointwiseMean):
    """Negative log predictive density, -1/N Σ log p(y_i | x_i).

    With samples of f, use the mixture that `monte_carlo` returns: its `log_prob` is the logarithm of the mean density.

    Example:
        >>> import torch
        >>> from torch.distributions import Normal
        >>> nlpd = NLPD()
        >>> nlpd.update(Normal(torch.zeros(2), torch.ones(2)), torch.tensor([0.0, 1.0]))
        >>> print(f"{nlpd.compute():.4f}")
        1.1689
    """

    description = MEASURED["nlpd"]
    higher_is_better = False

    def score(self, predictive: Distribution, target: Tensor) -> Tensor:
        """-log p(y)."""
        return -predictive.log_prob(target)


class RMSE(PointwiseMean):
    """Root mean squared error of the predictive mean, √(1/N Σ (y_i - ŷ_i)²).

    Example:
        >>> import torch
        >>> from torch.distributions import Normal
        >>> rmse = RMSE()
        >>> rmse.update(Normal(torch.zeros(2), torch.ones(2)), torch.tensor([3.0, 4.0]))
        >>> print(f"{rmse.compute():.4f}")
        3.5355
    """

    description = MEASURED["rmse"]
    higher_is_better = False

    def score(self, predictive: Distribution, target: Tensor) -> Tensor:
        """(y - E y)²."""
        return (target - predictive.mean).double().square()

    @staticmethod
    def finish(mean: Tensor) -> Tensor:
        """The square root of the mean."""
        return mean.sqrt()


class Coverage(PointwiseMean):
    """Fraction of targets in the central 90 % predictive interval; below 0.9 if intervals are too narrow.

    A target is inside if the predictive distribution function is between 0.05 and 0.95 there. This is not meaningful
    for discrete distributions.

    Example:
        >>> import torch
        >>> from torch.distributions import Normal
        >>> coverage = Coverage()
        >>> coverage.update(Normal(torch.zeros(4), torch.ones(4)), torch.tensor([-2.0, 0.0, 1.6, 1.7]))
        >>> print(f"{coverage.compute():.2f}")
        0.50
    """

    level = 0.9
    description = MEASURED["coverage"]
    higher_is_better = None  # intervals can be too wide as well as too narrow

    def score(self, predictive: Distribution, target: Tensor) -> Tensor:
        """1 inside the interval, |P(Y <= y) - ½| <= level / 2, else 0."""
        return (predictive.cdf(target) - 0.5).abs() <= self.level / 2


class Accuracy(PointwiseMean):
    """Fraction of binary labels that equal the more probable label.

    Example:
        >>> import torch
        >>> from torch.distributions import Bernoulli
        >>> accuracy = Accuracy()
        >>> accuracy.update(Bernoulli(torch.tensor([0.9, 0.2, 0.6, 0.3])), torch.tensor([1.0, 0.0, 0.0, 0.0]))
        >>> print(f"{accuracy.compute():.2f}")
        0.75
    """

    description = MEASURED["accuracy"]
    higher_is_better = True

    def score(self, predictive: Distribution, target: Tensor) -> Tensor:
        """1 if the more probable label is correct, else 0."""
        return (predictive.mean > 0.5) == (target > 0.5)
