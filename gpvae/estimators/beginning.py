"""The first points of a stream, on which hyperparameters are found."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from gpvae.diagnostics import MisfitWarning, ResolutionWarning
from gpvae.hyperparameters import HyperparameterWarning


class Beginning:
    """Keeps the first points of a stream, and tells when it is time to fit hyperparameters to all of them.

    That is at the first batch, whenever there are twice as many points as at the last time, and when there are enough.
    Then no points are kept any longer.

    Args:
        num_points: Number of points that are enough.
    """

    def __init__(self, num_points: int) -> None:
        if num_points < 0:
            raise ValueError(f"warm_up must be zero or more, got {num_points}")
        self.num_points = num_points
        self.x: Tensor | None = None
        self.y: Tensor | None = None
        self.fitted_to = 0

    @property
    def is_over(self) -> bool:
        """Whether hyperparameters have been fitted to enough points."""
        return self.fitted_to >= self.num_points

    @contextmanager
    def tolerated(self) -> Iterator[None]:
        """Within the block, as long as there will be another fit, nobody is warned of what the few points lead to."""
        with warnings.catch_warnings():
            if not self.is_over:
                for category in (HyperparameterWarning, MisfitWarning, ResolutionWarning):
                    warnings.simplefilter("ignore", category)
            yield

    def add(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor] | None:
        """Add a batch of inputs `[N, D]` and targets `[N]`; returns all points so far if it is time to fit to them."""
        if self.x is None or self.y is None:
            self.x, self.y = x, y
        else:
            self.x, self.y = torch.cat([self.x, x]), torch.cat([self.y, y])
        everything = self.x, self.y
        num = len(self.x)
        if num < min(2 * self.fitted_to, self.num_points):
            return None
        self.fitted_to = num
        if self.is_over:
            self.x = self.y = None
        return everything
