"""Scaling of inputs to a fixed interval and of targets to mean 0, variance 1."""

import torch
from torch import Tensor


def rescale(x: Tensor, low: float, high: float) -> Tensor:
    """Map each column of x linearly, its smallest value to `low` and its largest to `high`.

    Args:
        x: Inputs, of shape (N, D).
        low: The new minimum.
        high: The new maximum.

    Returns:
        The scaled inputs, of shape (N, D).
    """
    smallest, largest = torch.aminmax(x, dim=0)
    constant = (largest == smallest).nonzero().flatten().tolist()
    if constant:
        raise ValueError(f"Columns {constant} of x hold one value only and cannot be scaled: drop them.")
    return low + (high - low) * (x - smallest) / (largest - smallest)


def standardise(y: Tensor) -> Tensor:
    """Shift and scale y to mean 0 and (population) variance 1 over all its values.

    Args:
        y: Targets, of shape (N,).

    Returns:
        The scaled targets, of shape (N,).
    """
    deviation = y.std(correction=0)
    if deviation == 0:
        raise ValueError("y holds one value only and cannot be standardised.")
    return (y - y.mean()) / deviation
