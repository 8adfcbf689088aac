"""Scaling of inputs to a fixed interval and of targets to mean 0, variance 1."""

from torch import Tensor

from datamodules.point_scale import PointScale


def minmax_scale(x: Tensor, low: float, high: float) -> Tensor:
    """Map each column linearly, its smallest value to `low` and its largest to `high`.

    Args:
        x: Inputs, of shape (N, D); no column is constant.
        low: The new minimum.
        high: The new maximum.

    Returns:
        The scaled inputs, of shape (N, D).
    """
    scale = PointScale.fit(x, x[:, 0], low, high, standardises=False)
    constant = scale.largest == scale.smallest
    if constant.any():
        columns = constant.nonzero().flatten().tolist()
        raise ValueError(f"Columns {columns} of x are constant and cannot be scaled: drop them.")
    return scale.inputs(x)


def standardise(y: Tensor) -> Tensor:
    """Shift and scale y to mean 0 and (population) variance 1.

    Args:
        y: Targets, of shape (N,).

    Returns:
        The scaled targets, of shape (N,).
    """
    return PointScale.fit(y[:, None], y, 0.0, 1.0, standardises=True).targets(y)
