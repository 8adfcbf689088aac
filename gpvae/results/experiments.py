"""What the runs of an experiment say together, and the tables that `gpvae summary` shows of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from gpvae.metrics.task_table import SEEN, full_name
from gpvae.results.terminal import compact_table

FORGETTING = "_forgetting"


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
        variables: Names of the variables that are scored one by one, if they are asked for.
        scores: By (metric, after_task, task). For a metric such as `nlpd_seen`, over all tasks seen, and for
            `nlpd_forgetting`, at the end of the stream, the task repeats after_task. Those of a variable are called
            `nlpd:t2m`, `nlpd_seen:t2m` and so on.
    """

    name: str
    runs: list[Path]
    num_tasks: int
    metrics: list[str]
    variables: list[str]
    scores: dict[tuple[str, int, int], Interval]


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


def by_variable(experiment: Experiment) -> Table:
    """Scores at the end of the stream, a row for each variable, two columns for each metric.

    Args:
        experiment: The experiment.
    """
    end = experiment.num_tasks
    columns = [(metric, suffix) for metric in experiment.metrics for suffix in (SEEN, FORGETTING)]
    table = compact_table()
    table.add_column("", no_wrap=True)
    for metric, suffix in columns:
        table.add_column(f"  {metric}" + (" forgetting" if suffix == FORGETTING else ""), justify="right", no_wrap=True)
    for variable in experiment.variables:
        names = [full_name(metric + suffix, variable) for metric, suffix in columns]
        cells = [experiment.scores.get((name, end, end)) for name in names]
        table.add_row(variable, *("–" if cell is None else f"  {cell}" for cell in cells))
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
