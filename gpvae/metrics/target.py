"""What a score should be: as low as it can, as high as it can, or near a value."""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Score = TypeVar("Score", float, Tensor, NDArray[np.float64])


@dataclass(frozen=True)
class Aim:
    """What a score should be, and so which of two scores is better: the one with the smaller loss.

    Args:
        target: The best value: minus infinity if lower is better, infinity if higher is, else what is right.

    Example:
        >>> honest = Aim(0.9)  # coverage of a 90 % interval: 1 is too wide, 0.7 too narrow
        >>> print(honest.loss(1.0) < honest.loss(0.7))
        True
    """

    target: float

    def loss(self, score: Score) -> Score:
        """How bad a score is: itself, itself with the sign turned, or how far it is from the target.

        Args:
            score: A score, or an array of them.
        """
        if math.isinf(self.target):
            return score if self.target < 0 else -score
        return abs(score - self.target)


LOWER, HIGHER = Aim(-math.inf), Aim(math.inf)
