"""The scores of a run on each task after each task, as in `task_metrics.csv`."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from gpvae.metrics.description import DERIVED, MEASURED, describe
from gpvae.metrics.score import Score, ScoreKey, check_tasks, mean_increase, sort_key
from gpvae.utils.atomic import replacing

FILE_NAME = "task_metrics.csv"
COLUMNS = Score._fields
#: Columns of files and checkpoints written before variables had a column, with metrics such as `nlpd_seen:t2m`.
OLD_COLUMNS = ("after_task", "task", "metric", "value")


class TaskTable:
    """Scores by (after_task, task, metric, variable); a later score with the same key replaces an earlier one.

    Args:
        scores: Initial scores.
    """

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        self.scores: dict[ScoreKey, float] = {}
        for score in scores:
            self.add(score)

    def add(self, score: Score) -> None:
        """Enter a score.

        Args:
            score: The score; its task, if any, has been learnt.
        """
        check_tasks(score.after_task, score.task)
        self.scores[score.key] = float(score.value)

    def rows(self) -> list[Score]:
        """All scores, in order."""
        return [Score(*key, self.scores[key]) for key in sorted(self.scores, key=sort_key)]

    def drop_after(self, after_task: int) -> None:
        """Drop the scores after later tasks, when a run is resumed from an earlier one."""
        self.scores = {key: value for key, value in self.scores.items() if key[0] <= after_task}

    @property
    def num_tasks(self) -> int:
        """How many tasks were learnt in all."""
        return max((after_task for after_task, *_ in self.scores), default=0)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, NLPD first."""
        names = {metric for _, _, metric, _ in self.scores}
        known = [*MEASURED, *DERIVED]
        return [name for name in known if name in names] + sorted(names - set(known))

    @property
    def variables(self) -> list[str]:
        """Names of the variables that are scored one by one."""
        return [name for name in dict.fromkeys(variable for *_, variable in self.scores) if name]

    def matrix(self, metric: str, variable: str = "") -> np.ndarray:
        """Scores `[after_task, task]`, both from 0; NaN above the diagonal and where there is none."""
        matrix = np.full((self.num_tasks, self.num_tasks), np.nan)
        for after_task, task, value in self._single_tasks(metric, variable):
            matrix[after_task - 1, task - 1] = value
        return matrix

    def seen(self, metric: str, variable: str = "") -> np.ndarray:
        """Scores over all tasks seen, `[after_task]` from 0; NaN where there is none."""
        after = range(1, self.num_tasks + 1)
        return np.array([self.scores.get((task, None, metric, variable), np.nan) for task in after])

    def forgetting(self, metric: str, variable: str = "") -> float:
        """How much worse earlier tasks became, see `Forgetting`; NaN before the second task."""
        last = max((after_task for after_task, *_ in self._single_tasks(metric, variable)), default=0)
        return mean_increase(describe(metric).best.loss(self.matrix(metric, variable)[:last, :last]))

    def _single_tasks(self, metric: str, variable: str) -> Iterator[tuple[int, int, float]]:
        """(after_task, task, value) of the scores of single tasks."""
        for (after_task, task, *of), value in self.scores.items():
            if task is not None and of == [metric, variable]:
                yield after_task, task, value

    def write(self, path: Path) -> None:
        """Write a csv file atomically; the task of a score over all tasks seen is empty."""
        with replacing(path) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([*key, repr(value)] for *key, value in self.rows())

    @classmethod
    def read(cls, path: Path) -> "TaskTable":
        """Read a csv file, in the present layout or the previous one.

        Raises:
            ValueError: The file has another layout or malformed lines; the message names the line.
        """
        table = cls()
        with path.open(newline="", errors="replace") as file:
            reader = csv.reader(file)
            if (header := tuple(next(reader, ()))) not in (COLUMNS, OLD_COLUMNS):
                raise ValueError(f"{path}, line 1: expected the columns {','.join(COLUMNS)}; got {','.join(header)!r}")
            for row in reader:
                try:
                    table.add(_parse_old(*row) if header == OLD_COLUMNS else _parse(*row))
                except (TypeError, ValueError) as error:  # a TypeError if cells are missing
                    raise ValueError(f"{path}, line {reader.line_num}: {','.join(row)!r} is no row: {error}") from error
        if table.num_tasks > len(table.scores):
            raise ValueError(f"{path} names {table.num_tasks} tasks, but has {len(table.scores)} row(s)")
        return table


def _parse(after_task: str, task: str, metric: str, variable: str, value: str) -> Score:
    return Score(int(after_task), int(task) if task else None, metric, variable, float(value))


def _parse_old(after_task: str, task: str, metric: str, value: str) -> Score:
    return upgrade(int(after_task), int(task), metric, float(value))


def upgrade(after_task: int, task: int, name: str, value: float) -> Score:
    """Convert a row of the previous layout, in which `nlpd_seen:t2m` is the NLPD of t2m over all tasks seen.

    Args:
        after_task: How many tasks were learnt.
        task: The task; `after_task` for scores over all tasks seen.
        name: Names of metric and variable.
        value: The score.
    """
    metric, _, variable = name.partition(":")
    seen = metric.endswith("_seen")
    return Score(after_task, None if seen else task, metric.removesuffix("_seen"), variable, value)
