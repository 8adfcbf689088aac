"""The best value of a score: as low or as high as possible, or one particular value."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor  # `gpvae summary` needs no torch

Number = TypeVar("Number", float, "Tensor", NDArray[np.float64])


@dataclass(frozen=True)
class Target:
    """The best value of a score. Of two scores the one with the smaller loss is better.

    Args:
        value: Minus infinity if lower is better, infinity if higher is better, else the best value itself.

    Example:
        >>> coverage = Target(0.9)  # of 90 % intervals: 1 is too wide, 0.7 too narrow
        >>> print(coverage.loss(1.0) < coverage.loss(0.7))
        True
    """

    value: float

    def loss(self, score: Number) -> Number:
        """The score itself, its negative, or its distance from the target.

        Args:
            score: A score, or an array of scores.
        """
        if math.isinf(self.value):
            return score if self.value < 0 else -score
        return abs(score - self.value)

    def __str__(self) -> str:
        if math.isinf(self.value):
            return "lower is better" if self.value < 0 else "higher is better"
        return f"best at {self.value:g}"


LOWER, HIGHER = Target(-math.inf), Target(math.inf)
