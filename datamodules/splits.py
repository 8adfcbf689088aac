"""Splits of points into tasks: equal parts of all points, or parts that stay as they are when points are added."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.point_scale import PointScale


@dataclass(frozen=True)
class Task:
    """One part of a stream.

    Args:
        x_train: Training inputs, in order of the key.
        y_train: Training targets.
        x_test: Test inputs in the range of this task, in order of the key; may be empty.
        y_test: Test targets.
    """

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor

    def scaled(self, scale: PointScale) -> "Task":
        """The task on another scale.

        Args:
            scale: The scale.
        """
        train = scale.inputs(self.x_train), scale.targets(self.y_train)
        return Task(*train, scale.inputs(self.x_test), scale.targets(self.y_test))


def first_dimension(x: Tensor) -> Tensor:
    """The first column of x: time, for a time series.

    Args:
        x: Inputs, of shape (N, D) or (N,).
    """
    return x.reshape(len(x), -1)[:, 0]


def l2_norm(x: Tensor) -> Tensor:
    """The distance of each input from the origin.

    Args:
        x: Inputs, of shape (N, D) or (N,).
    """
    return x.reshape(len(x), -1).square().sum(dim=-1).sqrt()


def split_tasks(
    x: Tensor,
    y: Tensor,
    num_tasks: int,
    num_test: int | float,
    seed: int,
    key: Callable[[Tensor], Tensor] = first_dimension,
) -> list[Task]:
    """Draw test points at random, sort the others by a key and divide them into tasks of equal size.

    Where the training points do not divide evenly, the first tasks get one more, as in
    `numpy.array_split`. A task's range begins with the key of its first training point and ends where the
    next one's begins; the first and the last task extend to all smaller and larger keys.

    Args:
        x: Inputs, of shape (N, D) or (N,).
        y: Targets, of shape (N, ...).
        num_tasks: The number of tasks.
        num_test: The number of test points (int), or their fraction of all points (float below 1; rounded to whole
            points).
        seed: Fixes which points are test points.
        key: Computes the sort keys of the inputs, a tensor of shape (N,).

    Returns:
        The tasks, in order of the key.

    Raises:
        ValueError: Data and options are invalid or do not fit together.
    """
    keys = checked_keys(x, y, key)
    num_test = _checked_num_test(num_test, len(x))
    if not 1 <= num_tasks <= len(x) - num_test:
        raise ValueError(
            f"Cannot make {num_tasks} tasks of {len(x) - num_test} training points ({len(x)} points minus "
            f"{num_test} for test): num_tasks must be between 1 and the number of training points."
        )

    shuffled = torch.from_numpy(np.random.default_rng(seed).permutation(len(x))).to(keys.device)
    train, test = (
        points[torch.argsort(keys[points], stable=True)] for points in shuffled.split([len(x) - num_test, num_test])
    )
    train_parts = torch.tensor_split(train, num_tasks)
    beginnings = torch.stack([keys[part[0]] for part in train_parts])
    task_of_test = torch.bucketize(keys[test], beginnings[1:], right=True)
    test_parts = [test[task_of_test == task] for task in range(num_tasks)]
    return [
        Task(x[train_part], y[train_part], x[test_part], y[test_part])
        for train_part, test_part in zip(train_parts, test_parts, strict=True)
    ]


def hold_out(num_points: int, test_share: float, seed: int, task: int) -> NDArray[np.bool_]:
    """Which points of a task are held out for test `[N]`: at least one, and not all of them.

    They depend on the arguments only, so they do not change when later tasks arrive.

    Args:
        num_points: The number of points of the task, two or more.
        test_share: The fraction to hold out.
        seed: Fixes which.
        task: The task, from 0.
    """
    num_test = min(max(round(test_share * num_points), 1), num_points - 1)
    return np.random.default_rng([seed, 1, task]).permutation(num_points) < num_test


def task_ends(keys: Tensor, points_per_task: int, extent_per_task: float | None = None) -> list[int]:
    """The ends of all whole tasks, exclusive, as indices into sorted points; later points change none of them.

    Args:
        keys: The keys of all points, in order `[N]`.
        points_per_task: The number of points in a task.
        extent_per_task: The extent of a task along the key, instead of a number of points. A task is whole once there
            is a point after it; one with fewer than two points is joined to the next.

    Example:
        >>> import torch
        >>> task_ends(torch.arange(8.0), 3), task_ends(torch.tensor([0.0, 1, 2, 9, 10, 11]), 3, extent_per_task=4.0)
        ([3, 6], [3, 5])
    """
    if extent_per_task is None:
        return list(range(points_per_task, len(keys) + 1, points_per_task))
    extents = ((keys - keys[0]) / extent_per_task).floor()
    ends: list[int] = []
    for end in (extents.diff().nonzero().flatten() + 1).tolist():
        if end - (ends[-1] if ends else 0) >= 2:
            ends.append(end)
    return ends


def checked_keys(x: Tensor, y: Tensor, key: Callable[[Tensor], Tensor]) -> Tensor:
    """The sort keys of points `[N]`; raise if points or keys are missing or not finite.

    Args:
        x: Inputs, of shape (N, D) or (N,).
        y: Targets, of shape (N, ...).
        key: Computes the sort keys of the inputs.
    """
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} points and y has {len(y)}: they must have the same number.")
    if len(x) == 0:
        raise ValueError("x and y are empty: there is nothing to split.")
    keys = key(x)
    if keys.shape != (len(x),):
        raise ValueError(f"key(x) has shape {tuple(keys.shape)}; expected one number for each input: ({len(x)},).")
    for name, values in (("x", x), ("y", y), ("key(x)", keys)):
        bad = len(x) - int(torch.isfinite(values).reshape(len(x), -1).all(dim=1).sum())
        if bad:
            raise ValueError(f"{name} has NaN or infinite values at {bad} of {len(x)} points: drop or fill them.")
    return keys


def _checked_num_test(num_test: int | float, num_points: int) -> int:
    if isinstance(num_test, float):
        if not 0 <= num_test < 1:
            raise ValueError(f"num_test is {num_test}: as a fraction (a float) it must be at least 0 and below 1.")
        return round(num_test * num_points)
    if not 0 <= num_test < num_points:
        raise ValueError(
            f"num_test is {num_test}: as a number of points (an int) it must be at least 0 and below "
            f"{num_points}, the number of all points."
        )
    return num_test
