"""Means and 95 % intervals over the runs of each experiment."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.results.experiments import Experiment, average
from gpvae.results.runs import find_files
from gpvae.results.terminal import comparison_table, console, summary_table, variable_table

COLUMNS = ["experiment", "after_task", "task", "metric", "variable", "mean", "low", "high", "runs"]


def summarise(paths: Iterable[str | Path], variables: bool = False) -> list[Experiment]:
    """Find runs, group them by experiment, which is the folder that holds them, and average each group.

    Args:
        paths: Folders of runs, folders of such folders, or csv files.
        variables: Whether to average the scores of each variable too.

    Raises:
        FileNotFoundError: A path holds no scores.
        ValueError: A file is malformed, or runs of an experiment ended at different tasks.
    """
    groups: defaultdict[Path, list[Path]] = defaultdict(list)
    for file in find_files(paths, FILE_NAME):
        groups[file.parent.parent].append(file)
    names = [folder.name for folder in groups]
    experiments = []
    for folder, files in groups.items():
        name = folder.name if names.count(folder.name) == 1 else str(folder)
        experiments.append(average(name, {file: TaskTable.read(file) for file in files}, variables))
    return experiments


def write_csv(experiments: Iterable[Experiment], path: Path) -> None:
    """Write all means and intervals, after every task, and forgetting at the end.

    Args:
        experiments: The experiments.
        path: File to write.
    """
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for experiment in experiments:
            rows = list(experiment.scores.items())
            for (metric, variable), cell in experiment.forgetting.items():
                rows.append(((experiment.num_tasks, None, f"{metric}_forgetting", variable), cell))
            for key, cell in rows:
                writer.writerow([experiment.name, *key, repr(cell.mean), repr(cell.low), repr(cell.high), cell.runs])


def show(experiments: Sequence[Experiment], tasks: bool = False, variables: bool = False) -> None:
    """Print one table that compares several experiments, or tables of each if tasks or variables are asked for.

    Args:
        experiments: The experiments.
        tasks: Whether to give each task a row.
        variables: Whether the scores of each variable were asked for.
    """
    screen = console()
    if len(experiments) > 1 and not (tasks or variables):
        screen.print("Over all tasks, at the end of each stream: mean ± 95 % interval", highlight=False)
        screen.print(comparison_table(experiments))
        return
    for experiment in experiments:
        runs = "1 run" if len(experiment.runs) == 1 else f"{len(experiment.runs)} runs"
        heading = f"{experiment.name}: {runs}, after task {experiment.num_tasks}, mean ± 95 % interval"
        screen.print(heading, highlight=False, soft_wrap=True)
        screen.print(summary_table(experiment, tasks))
        if experiment.variables:
            screen.print(variable_table(experiment))
