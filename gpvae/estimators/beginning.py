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
    def adding(self, x: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor] | None]:
        """Learn a batch of inputs `[N, D]` and targets `[N]` within the block; on any error, it is not added.

        Yields all points so far if hyperparameters are to be fitted to them. As long as there will be another fit,
        warnings caused by having few points are suppressed.
        """
        if self.is_over:
            yield None
            return
        if self.x is not None and self.y is not None:
            x, y = torch.cat([self.x, x]), torch.cat([self.y, y])
        due = len(x) >= min(2 * self.fitted_to, self.num_points)
        enough = len(x) >= self.num_points
        with warnings.catch_warnings():
            if not enough:
                for category in (HyperparameterWarning, MisfitWarning, ResolutionWarning):
                    warnings.simplefilter("ignore", category)
            yield (x, y) if due else None
        self.fitted_to = len(x) if due else self.fitted_to
        self.x, self.y = (None, None) if enough else (x, y)
