"""The prequential scores of a run, as in `foresight.csv`."""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import torch

from gpvae.metrics.foresight import ForesightCell
from gpvae.metrics.pointwise import PointwiseMean
from gpvae.metrics.registry import METRICS
from gpvae.utils.atomic import replacing
from gpvae.utils.lead_times import GROUPS

FILE_NAME = "foresight.csv"
#: Prefixes of the squared errors of a reference among cells, and of the skill against it among scores.
ERROR, SKILL = "squared_error_", "skill_"


class ForesightScore(NamedTuple):
    """How well tasks were predicted before they were learnt.

    Args:
        task: The task, from 2; None for all tasks together.
        lead: Name of the group of lead times; empty for all of them.
        metric: Short name of the metric.
        variable: The variable; empty for all variables together.
        value: The score.
        num_values: Number of values.
    """

    task: int | None
    lead: str
    metric: str
    variable: str
    value: float
    num_values: int


class ForesightTable:
    """Prequential scores, for any tasks, lead times and variables together.

    Args:
        cells: Initial sums.
    """

    def __init__(self, cells: Iterable[ForesightCell] = ()) -> None:
        self.cells: dict[tuple[int, str, str, str], tuple[float, int]] = {}
        self._groups: dict[tuple[int | None, str, str, str], list[tuple[float, int]]] | None = None
        self.add(cells)

    def add(self, cells: Iterable[ForesightCell]) -> None:
        """Enter sums; they replace earlier ones of the same task, lead times, metric and variable."""
        self._groups = None
        for task, lead, metric, variable, total, count in cells:
            self.cells[task, lead, metric, variable] = total, count

    def rows(self) -> list[ForesightCell]:
        """All sums."""
        return [ForesightCell(*key, *sums) for key, sums in self.cells.items()]

    def drop_after(self, task: int) -> None:
        """Drop later tasks, when a run is resumed from an earlier one."""
        self._groups = None
        self.cells = {key: sums for key, sums in self.cells.items() if key[0] <= task}

    @property
    def tasks(self) -> list[int]:
        """The tasks that were predicted."""
        return sorted({task for task, *_ in self.cells})

    @property
    def leads(self) -> list[str]:
        """The groups of lead times that have values."""
        found = {lead for _, lead, _, _ in self.cells}
        return [lead for lead in GROUPS if lead in found]

    @property
    def variables(self) -> list[str]:
        """The variables that have names."""
        return [name for name in dict.fromkeys(variable for *_, variable in self.cells) if name]

    @property
    def metrics(self) -> list[str]:
        """Short names of the metrics, then of skills."""
        names = list(dict.fromkeys(metric for _, _, metric, _ in self.cells))
        skills = [name.replace(ERROR, SKILL) for name in names if name.startswith(ERROR)]
        return [name for name in METRICS if name in names] + sorted(skills)

    def score(self, metric: str, task: int | None = None, lead: str = "", variable: str = "") -> ForesightScore:
        """The score of some values; NaN if there are none.

        Args:
            metric: Short name of the metric.
            task: The task; all together by default.
            lead: The group of lead times; all together by default.
            variable: The variable; all together by default.
        """
        if metric.startswith(SKILL):
            reference, _ = self._sums(metric.replace(SKILL, ERROR), task, lead, variable)
            total, count = self._sums("rmse", task, lead, variable)
            value = 1 - total / reference if reference else math.nan
        else:
            total, count = self._sums(metric, task, lead, variable)
            kind = METRICS[metric]
            assert issubclass(kind, PointwiseMean)
            value = float(kind.finish(torch.tensor(total / count, dtype=torch.float64))) if count else math.nan
        return ForesightScore(task, lead, metric, variable, value, count)

    def _sums(self, metric: str, task: int | None, lead: str, variable: str) -> tuple[float, int]:
        if self._groups is None:
            self._groups = self._grouped()
        chosen = self._groups.get((task, lead, metric, variable), [])
        return math.fsum(total for total, _ in chosen), sum(count for _, count in chosen)

    def _grouped(self) -> dict[tuple[int | None, str, str, str], list[tuple[float, int]]]:
        """The sums of single tasks, lead times and variables, and of all of them, in one pass."""
        groups = defaultdict(list)
        for (task, lead, metric, variable), sums in self.cells.items():
            for key in product((task, None), {lead, ""}, (metric,), {variable, ""}):
                groups[key].append(sums)
        return dict(groups)

    def scores(self) -> list[ForesightScore]:
        """The scores of single tasks and all of them, of groups of lead times and all, of variables and all."""
        keys = product((*self.tasks, None), (*self.leads, ""), self.metrics, ("", *self.variables))
        parts = (self.score(metric, task, lead, variable) for task, lead, metric, variable in keys)
        return [score for score in parts if score.num_values]

    def write(self, path: Path) -> None:
        """Write a csv file atomically; task, lead or variable of a score over all of them are empty."""
        with replacing(path) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(ForesightScore._fields)
            writer.writerows([*row[:4], repr(row.value), row.num_values] for row in self.scores())


def read_foresight(path: Path) -> list[ForesightScore]:
    """Read what `ForesightTable.write` wrote.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file has another layout or malformed lines; the message names the line.
    """
    rows = []
    with path.open(newline="", errors="replace") as file:
        reader = csv.reader(file)
        if (header := tuple(next(reader, ()))) != ForesightScore._fields:
            raise ValueError(f"{path}, line 1: expected the columns {','.join(ForesightScore._fields)}; got {header}")
        for row in reader:
            try:
                task, lead, metric, variable, value, count = row
                rows.append(
                    ForesightScore(int(task) if task else None, lead, metric, variable, float(value), int(count))
                )
            except ValueError as error:
                raise ValueError(f"{path}, line {reader.line_num}: {','.join(row)!r} is no row: {error}") from error
    return rows
