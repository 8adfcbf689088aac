"""`gpvae summary`: means and 95 % intervals over the runs of each experiment."""

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table
from scipy import stats

from gpvae.metrics.printing import compact_table, console
from gpvae.metrics.task_table import FILE_NAME, SEEN, TaskTable

FORGETTING = "_forgetting"
COLUMNS = ["experiment", "metric", "after_task", "task", "mean", "low", "high", "runs"]


@dataclass(frozen=True)
class Interval:
    """The mean over runs and its 95 % interval, by Student's t; without an interval (NaN) where there is one run."""

    mean: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "–"
        return f"{self.mean:.4f}" + ("" if math.isnan(self.low) else f" ± {(self.high - self.low) / 2:.4f}")


@dataclass(frozen=True)
class Experiment:
    """What the runs of one experiment, such as its seeds, say together.

    Args:
        name: Name of the folder that holds the runs.
        runs: Folders of the runs.
        num_tasks: How many tasks each run learnt.
        metrics: Names of the metrics, NLPD first.
        scores: By (metric, after_task, task). For a metric such as `nlpd_seen`, over all tasks seen, and for
            `nlpd_forgetting`, at the end of the stream, the task repeats after_task.
    """

    name: str
    runs: list[Path]
    num_tasks: int
    metrics: list[str]
    scores: dict[tuple[str, int, int], Interval]


def summarise(paths: Iterable[str | Path]) -> list[Experiment]:
    """Gather runs, group them by the folder they are in, and average each group.

    Args:
        paths: Folders of runs, folders of such folders, or csv files.

    Raises:
        FileNotFoundError: A path holds no scores.
        ValueError: A file is malformed, or runs of an experiment ended at different tasks.
    """
    groups: defaultdict[Path, list[Path]] = defaultdict(list)
    for file in dict.fromkeys(file.resolve() for path in paths for file in find_files(Path(path))):
        groups[file.parent.parent].append(file)
    names = [folder.name for folder in groups]
    return [
        average(folder.name if names.count(folder.name) == 1 else str(folder), {f: TaskTable.read(f) for f in files})
        for folder, files in groups.items()
    ]


def find_files(path: Path) -> list[Path]:
    """The csv file of a run, or those of all runs in a folder; hidden folders are left out."""
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}")
    if path.is_file():
        return [path]
    if (path / FILE_NAME).is_file():
        return [path / FILE_NAME]
    found = [file.relative_to(path) for file in sorted(path.glob(f"**/{FILE_NAME}"))]
    files = [path / file for file in found if not any(part.startswith(".") for part in file.parts)]
    if not files:
        raise FileNotFoundError(f"no {FILE_NAME} in {path}: is it the folder of a run that has learnt a task?")
    return files


def average(name: str, tables: dict[Path, TaskTable]) -> Experiment:
    """What the runs of one experiment say together.

    Args:
        name: Name of the experiment.
        tables: Scores of each run, by file.
    """
    ends = {file: table.num_tasks for file, table in tables.items()}
    if 0 in ends.values():
        raise ValueError(f"{next(file for file in ends if not ends[file])} holds no scores yet")
    if len(set(ends.values())) > 1:
        listed = ", ".join(f"{file.parent.name} after task {end}" for file, end in ends.items())
        raise ValueError(f"runs of {name} ended at different tasks: {listed}. Finish them, or name those that count")
    num_tasks = next(iter(ends.values()))
    values: defaultdict[tuple[str, int, int], list[float]] = defaultdict(list)
    for table in tables.values():
        for (after_task, task, metric), value in table.scores.items():
            values[metric, after_task, task].append(value)
        if num_tasks > 1:
            for metric in table.metrics:
                values[metric + FORGETTING, num_tasks, num_tasks].append(table.forgetting(metric))
    return Experiment(
        name=name,
        runs=[file.parent for file in tables],
        num_tasks=num_tasks,
        metrics=list(dict.fromkeys(metric for table in tables.values() for metric in table.metrics)),
        scores={key: mean_interval(values[key]) for key in sorted(values)},
    )


def mean_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The mean and its interval by Student's t, mean ± t s / √n; bounds are NaN for one value."""
    mean, runs = float(np.mean(values)), len(values)
    if runs < 2:
        return Interval(mean, math.nan, math.nan, runs)
    half_width = float(stats.t.ppf((1 + level) / 2, runs - 1) * np.std(values, ddof=1) / math.sqrt(runs))
    return Interval(mean, mean - half_width, mean + half_width, runs)


def to_table(experiment: Experiment, tasks: bool) -> Table:
    """Scores at the end of the stream, a column for each metric.

    Args:
        experiment: The experiment.
        tasks: Whether to give each task a row of its own.
    """
    end = experiment.num_tasks
    rows = {f"task {task}": ("", task) for task in range(1, end + 1)} if tasks else {}
    rows |= {"all seen": (SEEN, end), "forgetting": (FORGETTING, end)}
    table = compact_table()
    table.add_column("", no_wrap=True)
    for metric in experiment.metrics:
        table.add_column(f"  {metric}", justify="right", no_wrap=True)
    for heading, (suffix, task) in rows.items():
        cells = [experiment.scores.get((metric + suffix, end, task)) for metric in experiment.metrics]
        table.add_row(heading, *("–" if cell is None else f"  {cell}" for cell in cells))
    return table


def comparison(experiments: Sequence[Experiment]) -> Table:
    """One row for each experiment: its scores over all tasks at the end of the stream, and its forgetting.

    Args:
        experiments: The experiments.
    """
    metrics = list(dict.fromkeys(metric for experiment in experiments for metric in experiment.metrics))
    columns = [(metric, SEEN) for metric in metrics] + [(metric, FORGETTING) for metric in metrics[:1]]
    table = compact_table()
    for heading in ("experiment", "  runs", "  tasks"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "experiment" else "right")
    for metric, suffix in columns:
        table.add_column(f"  {metric}" + (" forgetting" if suffix == FORGETTING else ""), justify="right", no_wrap=True)
    for experiment in experiments:
        end = experiment.num_tasks
        cells = [experiment.scores.get((metric + suffix, end, end)) for metric, suffix in columns]
        shown = ["–" if cell is None else f"  {cell}" for cell in cells]
        table.add_row(experiment.name, str(len(experiment.runs)), str(end), *shown)
    return table


def write_csv(experiments: Iterable[Experiment], path: Path) -> None:
    """Write all means and intervals, after every task.

    Args:
        experiments: The experiments.
        path: File to write.
    """
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for experiment in experiments:
            for key, cell in experiment.scores.items():
                writer.writerow([experiment.name, *key, repr(cell.mean), repr(cell.low), repr(cell.high), cell.runs])


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Args:
        argv: Arguments after `gpvae summary`; those of the process if not given.
    """
    parser = argparse.ArgumentParser(
        prog="gpvae summary",
        description="Mean and 95 % interval (Student's t) of scores over runs, such as seeds, of each experiment.",
        epilog="Runs in one folder are one experiment: runs/<experiment>/seed_<n>/task_metrics.csv.",
    )
    parser.add_argument(
        "paths", nargs="+", metavar="RUN_DIR_OR_CSV", help=f"folder of a run, folder of runs, or a {FILE_NAME}"
    )
    parser.add_argument("--tasks", action="store_true", help="also show each task, as it stands at the end")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all scores, after every task, to this file")
    arguments = parser.parse_args(argv)
    try:
        experiments = summarise(arguments.paths)
        if arguments.csv is not None:
            write_csv(experiments, arguments.csv)
    except (OSError, ValueError) as error:
        parser.exit(1, f"gpvae summary: {error}\n")
    screen = console()
    if len(experiments) > 1 and not arguments.tasks:
        screen.print("Over all tasks, at the end of each stream: mean ± 95 % interval", highlight=False)
        screen.print(comparison(experiments))
        return
    for experiment in experiments:
        runs = "1 run" if len(experiment.runs) == 1 else f"{len(experiment.runs)} runs"
        heading = f"{experiment.name}: {runs}, after task {experiment.num_tasks}, mean ± 95 % interval"
        screen.print(heading, markup=False, highlight=False, soft_wrap=True)
        screen.print(to_table(experiment, arguments.tasks))
