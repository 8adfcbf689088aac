"""A score as a row of a table: typed from the metric to the csv file, formatted only where it is shown."""

from typing import NamedTuple

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


def sort_key(key: ScoreKey) -> tuple[int, bool, int, str, str]:
    """Order of rows: by tasks learnt, then by task with the scores over all tasks seen last."""
    after_task, task, metric, variable = key
    return after_task, task is None, task or 0, metric, variable
