"""A table with the final scores of each run, kept beside the page, so that runs can be spread over machines and time.

A run takes minutes to hours and its folder megabytes; its line takes a hundred bytes. A line is valid as long as the
plan still has its command.
"""

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from benchmarks.reproduce.experiment import Experiment
from benchmarks.reproduce.runs import Run as Planned
from gpvae.metrics.task_table import TaskTable
from gpvae.results.runs import read_runs
from gpvae.utils.atomic import replacing


@dataclass(frozen=True)
class Line:
    """Final scores of a run; NaN for scores that it does not have.

    Attributes:
        experiment: Name of the experiment.
        seed: Its seed.
        command: Digest of its command.
        nlpd: NLPD over the test points of all tasks, after the last one.
        forgetting: Mean over tasks of the increase of the NLPD since the task was just learnt.
        rmse: As NLPD.
        accuracy: As NLPD.
        ece: As NLPD.
        seconds: Seconds for all tasks: learning, scoring and saving.
        made_by: Version of gpvae.
    """

    experiment: str
    seed: int
    command: str
    nlpd: float
    forgetting: float
    rmse: float
    accuracy: float
    ece: float
    seconds: float
    made_by: str

    @property
    def key(self) -> tuple[str, int]:
        """The table has one line for each key."""
        return self.experiment, self.seed


SCORES = ("rmse", "accuracy", "ece")
COLUMNS = [field.name for field in fields(Line)]
NUMBERS = [field.name for field in fields(Line) if field.type is float]


def gather(experiments: Iterable[Experiment], folder: Path, path: Path) -> list[Line]:
    """A line for each planned run that is finished in a folder or in a table; the folder takes precedence.

    Args:
        experiments: The table of experiments.
        folder: Folder of all runs.
        path: The table of earlier runs, if there is one.
    """
    planned = [
        Planned(experiment, seed, folder) for experiment in experiments for seed in range(1, experiment.seeds + 1)
    ]
    earlier = {line.key: line for line in read(path)}
    lines = []
    for run in planned:
        before = earlier.get((run.experiment.name, run.seed))
        if before and before.command != run.digest:
            before = None
        line = summarise(run) if run.finished() else None
        if line and before and math.isnan(line.seconds):  # folders of earlier versions hold no times
            line = replace(line, seconds=before.seconds)
        if line or before:
            lines.append(line or before)
    return lines


def missing_from(path: Path, planned: Iterable[Planned]) -> list[Planned]:
    """The runs of a plan that are not in a table.

    Args:
        path: The table.
        planned: The runs.

    Raises:
        FileNotFoundError: There is no such table.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: there is no such table of runs; the one of this package is docs/paper_runs.csv"
        )
    known = {(*line.key, line.command) for line in read(path)}
    return [run for run in planned if (run.experiment.name, run.seed, run.digest) not in known]


def summarise(planned: Planned) -> Line | None:
    """The line of a finished run; None if its scores cannot be read.

    Args:
        planned: The run.
    """
    runs, _ = read_runs([planned.where / planned.folder])
    if not runs:
        return None
    (run,) = runs
    table, times = run.table, run.times or {}
    return Line(
        experiment=planned.experiment.name,
        seed=planned.seed,
        command=planned.digest,
        nlpd=last(table, "nlpd"),
        forgetting=table.forgetting("nlpd"),
        **{metric: last(table, metric) for metric in SCORES},
        seconds=sum(value for (_, activity), value in times.items() if activity != "drawing") if times else math.nan,
        made_by=run.config.made_by if run.config else "",
    )


def last(table: TaskTable, metric: str) -> float:
    """The final score over all tasks.

    Args:
        table: The scores of a run.
        metric: Name of the metric.
    """
    return float(table.seen(metric)[-1])


def read(path: Path) -> list[Line]:
    """Read a table; empty if there is none.

    Args:
        path: The file.

    Raises:
        ValueError: The file has other columns.
    """
    if not path.exists():
        return []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            raise ValueError(
                f"{path}: expected the columns {','.join(COLUMNS)}; got {','.join(reader.fieldnames or [])}"
            )
        return [Line(**_typed(row)) for row in reader]  # type: ignore[arg-type]


def _typed(row: dict[str, str]) -> dict[str, str | int | float]:
    numbers = {name: float(row[name] or "nan") for name in NUMBERS}
    return {**row, **numbers, "seed": int(row["seed"])}


def write(path: Path, lines: Sequence[Line]) -> None:
    """Write a table atomically.

    Args:
        path: The file.
        lines: Its lines.
    """
    with replacing(path) as unfinished, unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for line in lines:
            cells = asdict(line)
            shown = {name: "" if math.isnan(cells[name]) else f"{cells[name]:.6g}" for name in NUMBERS}
            writer.writerow(cells | shown)
