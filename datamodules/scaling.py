"""Scaling of inputs to a fixed interval and of targets to mean 0, variance 1."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PointScaling:
    """A scaling that is set once and then kept: inputs to [0, 1], targets to mean 0 and variance 1.

    Args:
        origin: What is mapped to 0 in each dimension of the inputs `[D]`.
        extent: What is mapped to a length of 1 in each dimension `[D]`.
        mean: The mean of the targets.
        deviation: Their standard deviation.
    """

    origin: Tensor
    extent: Tensor
    mean: Tensor
    deviation: Tensor

    @classmethod
    def fit(cls, x: Tensor, y: Tensor, standardise: bool = True) -> "PointScaling":
        """The scaling of some points; a dimension in which they are all equal is only shifted.

        Args:
            x: Inputs `[N, D]`.
            y: Targets `[N]`.
            standardise: Whether to scale the targets; counts and labels stay as they are.
        """
        smallest, largest = torch.aminmax(x, dim=0)
        extent = (largest - smallest).where(largest > smallest, 1.0)
        mean, deviation = (y.mean(), y.std(correction=0)) if standardise else (y.new_zeros(()), y.new_ones(()))
        return cls(smallest, extent, mean, deviation)

    def to_model(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs `[N, D]` and targets `[N]` on the scale of the model."""
        return (x - self.origin) / self.extent, (y - self.mean) / self.deviation


def minmax_scale(x: Tensor, low: float, high: float, like: Tensor | None = None) -> Tensor:
    """Map each column linearly, its smallest value to `low` and its largest to `high`.

    A column that is constant in `like` has no range, and is only shifted to the middle of the interval.

    Args:
        x: Inputs, of shape (N, D).
        low: The new minimum.
        high: The new maximum.
        like: The inputs whose smallest and largest values are used, of shape (M, D); x itself if not given, and then
            none of its columns may be constant.

    Returns:
        The scaled inputs, of shape (N, D).
    """
    smallest, largest = torch.aminmax(x if like is None else like, dim=0)
    constant = largest == smallest
    if like is None and constant.any():
        columns = constant.nonzero().flatten().tolist()
        raise ValueError(f"Columns {columns} of x are constant and cannot be scaled: drop them.")
    scaled = low + (high - low) * (x - smallest) / (largest - smallest)
    return torch.where(constant, (low + high) / 2 + (x - smallest), scaled)


def standardise(y: Tensor, like: Tensor | None = None) -> Tensor:
    """Shift and scale y to mean 0 and (population) variance 1.

    Args:
        y: Targets, of shape (N,).
        like: The targets whose mean and variance are used, of shape (M,); y itself if not given.

    Returns:
        The scaled targets, of shape (N,).
    """
    like = y if like is None else like
    deviation = like.std(correction=0)
    if deviation == 0:
        raise ValueError("y is constant and cannot be standardised.")
    return (y - like.mean()) / deviation
