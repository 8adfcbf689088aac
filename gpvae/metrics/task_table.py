"""The scores of a run, after each task and on each task: what `task_metrics.csv` holds."""

import csv
import math
from pathlib import Path

import numpy as np

from gpvae.metrics.forgetting import Forgetting
from gpvae.metrics.registry import METRICS, aim_of
from gpvae.utils.atomic import replacing

FILE_NAME = "task_metrics.csv"
COLUMNS = ["after_task", "task", "metric", "value"]
#: Ends the name of a metric over the points of all tasks seen; `task` then repeats `after_task`.
SEEN = "_seen"
#: Comes between the name of a metric and the variable whose points it is over, as in `nlpd:t2m`.
OF = ":"


class TaskTable:
    """Scores by (after_task, task, metric); tasks count from 1, and a later score of the same three replaces it.

    A metric over the points of one variable is called `nlpd:t2m`, or `nlpd_seen:t2m` over all tasks seen.
    """

    def __init__(self) -> None:
        self.scores: dict[tuple[int, int, str], float] = {}

    def set(self, after_task: int, task: int, metric: str, value: float, variable: str = "") -> None:
        """Enter the score on one task, over its points or those of one variable."""
        if not 1 <= task <= after_task:
            raise ValueError(f"tasks count from 1 and are scored once learnt; got task {task} after task {after_task}")
        self.scores[after_task, task, full_name(metric, variable)] = float(value)

    def set_seen(self, after_task: int, metric: str, value: float, variable: str = "") -> None:
        """Enter the score over the points of all tasks seen, or those of one variable."""
        self.set(after_task, after_task, metric + SEEN, value, variable)

    def drop_after(self, after_task: int) -> None:
        """Forget what came after a task, for a run that went back to it."""
        self.scores = {key: value for key, value in self.scores.items() if key[0] <= after_task}

    @property
    def num_tasks(self) -> int:
        """How many tasks were learnt at the end."""
        return max((after_task for after_task, _, _ in self.scores), default=0)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, NLPD first."""
        names = {metric.partition(OF)[0].removesuffix(SEEN) for _, _, metric in self.scores}
        return [name for name in METRICS if name in names] + sorted(names - METRICS.keys())

    @property
    def variables(self) -> list[str]:
        """Names of the variables that are scored one by one."""
        names = dict.fromkeys(metric.partition(OF)[2] for _, _, metric in self.scores)
        return [name for name in names if name]

    def matrix(self, metric: str, variable: str = "") -> np.ndarray:
        """Scores `[after_task, task]`, both from 0; NaN above the diagonal and where there is none."""
        return self._square(full_name(metric, variable))

    def seen(self, metric: str, variable: str = "") -> np.ndarray:
        """Scores over all tasks seen, `[after_task]` from 0; NaN where there is none."""
        return self._square(full_name(metric + SEEN, variable)).diagonal().copy()

    def _square(self, metric: str) -> np.ndarray:
        square = np.full((self.num_tasks, self.num_tasks), np.nan)
        for (after_task, task, name), value in self.scores.items():
            if name == metric:
                square[after_task - 1, task - 1] = value
        return square

    def forgetting(self, metric: str, variable: str = "") -> float:
        """How much worse old tasks became by this metric, see `Forgetting`; NaN before the second task."""
        forgetting = Forgetting(aim_of(metric), sync_on_compute=False)
        for (after_task, task, name), value in self.scores.items():
            if name == full_name(metric, variable):
                forgetting.update(after_task, task, value)
        return float(forgetting.compute()) if self.num_tasks > 1 and forgetting.update_called else math.nan

    def write(self, path: Path) -> None:
        """Write a csv file, all at once: whoever reads it meanwhile finds the old one or the new one."""
        with replacing(path) as unfinished, unfinished.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for (after_task, task, metric), value in sorted(self.scores.items()):
                writer.writerow([after_task, task, metric, repr(value)])

    @classmethod
    def read(cls, path: Path) -> "TaskTable":
        """Read a csv file.

        Raises:
            ValueError: The file is not what `write` writes; says in which line.
        """
        table = cls()
        with path.open(newline="", errors="replace") as file:
            reader = csv.reader(file)
            if (header := next(reader, [])) != COLUMNS:
                raise ValueError(f"{path}, line 1: expected the columns {','.join(COLUMNS)}; got {','.join(header)!r}")
            for row in reader:
                try:
                    after_task, task, metric, value = row
                    table.set(int(after_task), int(task), metric, float(value))
                except ValueError as error:
                    raise ValueError(f"{path}, line {reader.line_num}: {','.join(row)!r} is no row: {error}") from error
        return table


def full_name(metric: str, variable: str) -> str:
    """What a metric is called in the file, over the points of all variables or, if one is given, of one.

    Args:
        metric: Name of the metric.
        variable: Name of the variable.
    """
    return metric + OF + variable if variable else metric
