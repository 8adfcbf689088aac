"""Which hours belong to which task, and which of them are held out for test."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class TaskHours(NamedTuple):
    """The hours of a task, as indices into the hours of the stream.

    Args:
        train: Training hours, in order.
        test: Held-out hours, in order.
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def first(self) -> int:
        """The first hour of both."""
        return int(min(self.train[0], self.test[0]))

    @property
    def last(self) -> int:
        """The last hour of both."""
        return int(max(self.train[-1], self.test[-1]))


def merge(tasks: Sequence[TaskHours]) -> TaskHours:
    """Several tasks as one."""
    train, test = (np.concatenate(indices) for indices in zip(*tasks, strict=True))
    return TaskHours(train, test)


def split_hours(
    hours: NDArray[np.float64], num_tasks: int, hours_per_task: int, test_share: float, seed: int
) -> list[TaskHours]:
    """Divide a stream into tasks of equal length in time, and hold out a fraction of the hours of each.

    A task with missing hours has fewer hours than others. Which hours of a task are held out depends only on the seed,
    the task and its number of hours.

    Args:
        hours: The hours with data since the start of the stream, in order `[T]`.
        num_tasks: The number of tasks.
        hours_per_task: The length of each.
        test_share: The fraction of its hours that is held out.
        seed: Fixes which.

    Raises:
        ValueError: A task has less than two hours, one for training and one for test.
    """
    task_of_hour = hours // hours_per_task
    tasks = []
    for task in range(num_tasks):
        indices = np.flatnonzero(task_of_hour == task)
        if len(indices) < 2:
            raise ValueError(
                f"Task {task + 1} of {num_tasks}, {hours_per_task} hours from hour {task * hours_per_task} of the "
                f"stream, has {len(indices)} hour(s) of data: it needs at least 2. Lower num_tasks or raise "
                "hours_per_task, choose another start, or give more files."
            )
        num_test = min(max(round(test_share * len(indices)), 1), len(indices) - 1)
        held_out = np.random.default_rng([seed, 1, task]).permutation(len(indices)) < num_test
        tasks.append(TaskHours(indices[~held_out], indices[held_out]))
    return tasks
