"""A score as a row of a table."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: (after_task, task, metric, variable) of a score.
ScoreKey = tuple[int, int | None, str, str]


class Score(NamedTuple):
    """How well one task is predicted after some tasks were learnt; tasks count from 1.

    Args:
        after_task: How many tasks were learnt.
        task: The task that was scored; None for the points of all tasks seen.
        metric: Short name of the metric.
        variable: The variable that was scored; empty for all variables together.
        value: The score.
    """

    after_task: int
    task: int | None
    metric: str
    variable: str
    value: float

    @property
    def key(self) -> ScoreKey:
        """All but the value."""
        return self.after_task, self.task, self.metric, self.variable


def check_tasks(after_task: int, task: int | None) -> None:
    """Raise unless a task had been learnt when it was scored.

    Args:
        after_task: How many tasks were learnt.
        task: The task that was scored; None for the points of all tasks seen.
    """
    if after_task < 1 or (task is not None and not 1 <= task <= after_task):
        raise ValueError(f"tasks count from 1 and are scored once learnt; got task {task} after task {after_task}")


def sort_key(key: ScoreKey) -> tuple[int, bool, int, str, str]:
    """Order of rows: by number of tasks learnt, then by task, with scores over all tasks seen last."""
    after_task, task, metric, variable = key
    return after_task, task is None, task or 0, metric, variable


def mean_increase(losses: NDArray[np.float64]) -> float:
    """The mean over tasks j < T of L[T, j] - L[j, j], of those where both are known; NaN before the second task.

    Args:
        losses: L[i, j], the loss on task j after task i `[T, T]`, NaN where it is not known.
    """
    increases = (losses[-1] - losses.diagonal())[:-1] if len(losses) else losses.flatten()
    known = increases[~np.isnan(increases)]
    return float(known.mean()) if len(known) else math.nan
