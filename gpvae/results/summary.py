"""`gpvae summary`: means and 95 % intervals over the runs of each experiment."""

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

from gpvae.metrics.task_table import FILE_NAME, OF, TaskTable, full_name
from gpvae.results.experiments import FORGETTING, Experiment, Interval, by_variable, comparison, to_table
from gpvae.results.terminal import console

COLUMNS = ["experiment", "metric", "after_task", "task", "mean", "low", "high", "runs"]


def summarise(paths: Iterable[str | Path], variables: bool = False) -> list[Experiment]:
    """Gather runs, group them by the folder they are in, and average each group.

    Args:
        paths: Folders of runs, folders of such folders, or csv files.
        variables: Whether to average the scores of each variable too.

    Raises:
        FileNotFoundError: A path holds no scores.
        ValueError: A file is malformed, or runs of an experiment ended at different tasks.
    """
    groups: defaultdict[Path, list[Path]] = defaultdict(list)
    for file in dict.fromkeys(file.resolve() for path in paths for file in find_files(Path(path))):
        groups[file.parent.parent].append(file)
    names = [folder.name for folder in groups]
    experiments = []
    for folder, files in groups.items():
        name = folder.name if names.count(folder.name) == 1 else str(folder)
        experiments.append(average(name, {file: TaskTable.read(file) for file in files}, variables))
    return experiments


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


def average(name: str, tables: dict[Path, TaskTable], variables: bool = False) -> Experiment:
    """What the runs of one experiment say together.

    Args:
        name: Name of the experiment.
        tables: Scores of each run, by file.
        variables: Whether to average the scores of each variable too.
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
            if variables or OF not in metric:
                values[metric, after_task, task].append(value)
        if num_tasks > 1:
            for metric, variable in product(table.metrics, ["", *(table.variables if variables else [])]):
                forgetting = table.forgetting(metric, variable)
                values[full_name(metric + FORGETTING, variable), num_tasks, num_tasks].append(forgetting)
    return Experiment(
        name=name,
        runs=[file.parent for file in tables],
        num_tasks=num_tasks,
        metrics=list(dict.fromkeys(metric for table in tables.values() for metric in table.metrics)),
        variables=list(dict.fromkeys(v for table in tables.values() for v in table.variables if variables)),
        scores={key: mean_interval(values[key]) for key in sorted(values)},
    )


def mean_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The mean and its interval by Student's t, mean ± t s / √n; bounds are NaN for one value."""
    mean, runs = float(np.mean(values)), len(values)
    if runs < 2:
        return Interval(mean, math.nan, math.nan, runs)
    half_width = float(stats.t.ppf((1 + level) / 2, runs - 1) * np.std(values, ddof=1) / math.sqrt(runs))
    return Interval(mean, mean - half_width, mean + half_width, runs)


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
    parser.add_argument(
        "--variables", action="store_true", help="also show each variable, and write it to the csv file"
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all scores, after every task, to this file")
    arguments = parser.parse_args(argv)
    try:
        experiments = summarise(arguments.paths, arguments.variables)
        if arguments.csv is not None:
            write_csv(experiments, arguments.csv)
    except (OSError, ValueError) as error:
        parser.exit(1, f"gpvae summary: {error}\n")
    screen = console()
    if len(experiments) > 1 and not (arguments.tasks or arguments.variables):
        screen.print("Over all tasks, at the end of each stream: mean ± 95 % interval", highlight=False)
        screen.print(comparison(experiments))
        return
    for experiment in experiments:
        runs = "1 run" if len(experiment.runs) == 1 else f"{len(experiment.runs)} runs"
        heading = f"{experiment.name}: {runs}, after task {experiment.num_tasks}, mean ± 95 % interval"
        screen.print(heading, markup=False, highlight=False, soft_wrap=True)
        screen.print(to_table(experiment, arguments.tasks))
        if experiment.variables:
            screen.print(by_variable(experiment))
