"""The scale on which a stream of points is learnt, kept so that new points can be put on it."""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class PointScale:
    """Each column of the inputs is mapped linearly to an interval, targets are standardised.

    Args:
        smallest: What is mapped to `low`, for each column `[D]`.
        largest: What is mapped to `high` `[D]`; a column where both are equal is only shifted to the middle.
        low: Lower end of the interval.
        high: Upper end of the interval.
        mean: The mean of the targets.
        deviation: The standard deviation of the targets.
    """

    smallest: Tensor
    largest: Tensor
    low: float
    high: float
    mean: Tensor
    deviation: Tensor

    @classmethod
    def fit(cls, x: Tensor, y: Tensor, low: float, high: float, *, standardises: bool) -> Self:
        """The scale on which some inputs fill an interval, and some targets have mean 0 and variance 1.

        Args:
            x: The inputs `[N, D]`.
            y: The targets `[N]`.
            low: Lower end of the interval.
            high: Upper end of the interval.
            standardises: Whether targets are scaled; counts and labels are not.

        Raises:
            ValueError: All targets are equal.
        """
        mean, deviation = (y.mean(), y.std(correction=0)) if standardises else (y.new_zeros(()), y.new_ones(()))
        if deviation == 0:
            raise ValueError("y is constant and cannot be standardised.")
        smallest, largest = torch.aminmax(x, dim=0)
        return cls(smallest, largest, low, high, mean, deviation)

    @classmethod
    def identity(cls, num_columns: int) -> Self:
        """The scale that changes nothing.

        Args:
            num_columns: D.
        """
        zeros = torch.zeros(num_columns, dtype=torch.float64)
        return cls(zeros, zeros + 1, 0.0, 1.0, zeros.new_zeros(()), zeros.new_ones(()))

    def inputs(self, x: Tensor) -> Tensor:
        """Inputs on the scale of the model `[N, D]`.

        Args:
            x: Inputs as measured `[N, D]`.
        """
        scaled = self.low + (self.high - self.low) * (x - self.smallest) / (self.largest - self.smallest)
        middle = (self.low + self.high) / 2
        return torch.where(self.largest == self.smallest, middle + (x - self.smallest), scaled)

    def targets(self, y: Tensor) -> Tensor:
        """Targets on the scale of the model.

        Args:
            y: Targets as measured.
        """
        return (y - self.mean) / self.deviation

    def measured_inputs(self, x: Tensor) -> Tensor:
        """Inputs as measured, the inverse of `inputs`.

        Args:
            x: On the scale of the model `[N, D]`.
        """
        shares = (x - self.low) / (self.high - self.low)
        varying = self.smallest + (self.largest - self.smallest) * shares
        middle = (self.low + self.high) / 2
        return torch.where(self.largest == self.smallest, self.smallest + (x - middle), varying)

    def measured(self, y: Tensor) -> Tensor:
        """Targets as measured, the inverse of `targets`.

        Args:
            y: On the scale of the model: means, samples or quantiles, not deviations.
        """
        return y * self.deviation + self.mean

    def to_plain(self) -> dict[str, Any]:
        """Tensors and numbers, from which the constructor makes the same scale."""
        return dict(vars(self))
