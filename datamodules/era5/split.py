"""Which hours belong to which task, and which of them are held out for test."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class TaskHours(NamedTuple):
    """The hours of a task, as places in the whole stream.

    Args:
        train: Hours to learn from, in order.
        test: Hours held out, in order.
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


def merged(tasks: Sequence[TaskHours]) -> TaskHours:
    """Several tasks as one."""
    train, test = (np.concatenate(places) for places in zip(*tasks, strict=True))
    return TaskHours(train, test)


def split_hours(
    hours: NDArray[np.float64], num_tasks: int, hours_per_task: int, test_share: float, seed: int
) -> list[TaskHours]:
    """Cut a stream into tasks of equal length in time, and hold out a share of the hours of each.

    What is missing is missing: a task with gaps has fewer hours than others. What is drawn for a task depends on the
    seed, the task and its number of hours, and on nothing else.

    Args:
        hours: The hours there are, since the start of the stream, in order `[T]`.
        num_tasks: How many tasks.
        hours_per_task: How long each is.
        test_share: Which share of its hours is held out.
        seed: Fixes which.

    Raises:
        ValueError: A task has less than two hours, one to learn from and one to hold out.
    """
    task_of_hour = hours // hours_per_task
    tasks = []
    for task in range(num_tasks):
        places = np.flatnonzero(task_of_hour == task)
        if len(places) < 2:
            raise ValueError(
                f"Task {task + 1} of {num_tasks}, {hours_per_task} hours from hour {task * hours_per_task} of the "
                f"stream, has {len(places)} hour(s) of data: it needs at least 2. Lower num_tasks or raise "
                "hours_per_task, choose another start, or give more files."
            )
        num_test = min(max(round(test_share * len(places)), 1), len(places) - 1)
        held_out = np.random.default_rng([seed, 1, task]).permutation(len(places)) < num_test
        tasks.append(TaskHours(places[~held_out], places[held_out]))
    return tasks
