"""Scaling of inputs to a fixed interval and of targets to mean 0, variance 1."""

from torch import Tensor

from datamodules.point_scale import PointScale


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
    points = x if like is None else like
    scale = PointScale.fit(points, points[:, 0], low, high, standardises=False)
    constant = scale.largest == scale.smallest
    if like is None and constant.any():
        columns = constant.nonzero().flatten().tolist()
        raise ValueError(f"Columns {columns} of x are constant and cannot be scaled: drop them.")
    return scale.inputs(x)


def standardise(y: Tensor, like: Tensor | None = None) -> Tensor:
    """Shift and scale y to mean 0 and (population) variance 1.

    Args:
        y: Targets, of shape (N,).
        like: The targets whose mean and variance are used, of shape (M,); y itself if not given.

    Returns:
        The scaled targets, of shape (N,).
    """
    like = y if like is None else like
    return PointScale.fit(like[:, None], like, 0.0, 1.0, standardises=True).targets(y)
