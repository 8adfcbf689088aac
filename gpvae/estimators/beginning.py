"""The first points of a stream, to which hyperparameters are fitted."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from gpvae.diagnostics import MisfitWarning, ResolutionWarning
from gpvae.hyperparameters import HyperparameterWarning


class Beginning:
    """Keeps the first points of a stream, and decides when to fit hyperparameters to all of them.

    Hyperparameters are fitted to the first batch, whenever there are twice as many points as at the last fit, and when
    there are enough points. After that, no points are kept.

    Args:
        num_points: Number of points that is enough.
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
        """Suppress warnings caused by having few points, as long as there will be another fit."""
        with warnings.catch_warnings():
            if not self.is_over:
                for category in (HyperparameterWarning, MisfitWarning, ResolutionWarning):
                    warnings.simplefilter("ignore", category)
            yield

    def add(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor] | None:
        """Add a batch of inputs `[N, D]` and targets `[N]`; return all points so far if they are to be fitted."""
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
