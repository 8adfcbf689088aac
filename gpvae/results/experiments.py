"""Scores averaged over the runs of an experiment, such as its seeds."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import stats

from gpvae.metrics import TaskTable
from gpvae.metrics.description import DERIVED
from gpvae.metrics.score import ScoreKey, sort_key


@dataclass(frozen=True)
class Interval:
    """The mean over runs and its 95 % interval, by Student's t; the interval of a single run is NaN."""

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
    """The runs of one experiment.

    Args:
        name: Name of the folder that holds the runs.
        runs: Folders of the runs.
        num_tasks: How many tasks each run learnt.
        metrics: Names of the metrics, NLPD first, without those that are derived.
        variables: Names of the variables that are scored one by one, if asked for.
        scores: Scores averaged over runs, by (after_task, task, metric, variable).
        forgetting: Forgetting at the end of the stream, by metric and variable.
        derived: Names of derived scores: skill against references, and RMSE in units of the data.
    """

    name: str
    runs: list[Path]
    num_tasks: int
    metrics: list[str]
    variables: list[str]
    scores: dict[ScoreKey, Interval]
    forgetting: dict[tuple[str, str], Interval]
    derived: list[str] = field(default_factory=list)

    def final(self, metric: str, variable: str = "") -> Interval | None:
        """The score over all tasks at the end of the stream."""
        return self.scores.get((self.num_tasks, None, metric, variable))


def average(name: str, tables: Mapping[Path, TaskTable], variables: bool = False) -> Experiment:
    """Average the scores of the runs of one experiment.

    Args:
        name: Name of the experiment.
        tables: Scores of each run, by file.
        variables: Whether to average the scores of each variable too.

    Raises:
        ValueError: A run has no scores yet, or runs ended at different tasks.
    """
    ends = {file: table.num_tasks for file, table in tables.items()}
    if 0 in ends.values():
        raise ValueError(f"{next(file for file in ends if not ends[file])} holds no scores yet")
    if len(set(ends.values())) > 1:
        listed = ", ".join(f"{file.parent.name} after task {end}" for file, end in ends.items())
        raise ValueError(f"runs of {name} ended at different tasks: {listed}. Finish them, or name those that count")
    num_tasks = next(iter(ends.values()))
    names = list(dict.fromkeys(metric for table in tables.values() for metric in table.metrics))
    metrics = [name for name in names if name not in DERIVED]
    scores: defaultdict[ScoreKey, list[float]] = defaultdict(list)
    forgetting: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for table in tables.values():
        for score in table.rows():
            if variables or not score.variable:
                scores[score.key].append(score.value)
        for metric in [name for name in metrics if name in table.metrics] if num_tasks > 1 else ():
            for variable in ("", *(table.variables if variables else ())):
                forgetting[metric, variable].append(table.forgetting(metric, variable))
    return Experiment(
        name=name,
        runs=[file.parent for file in tables],
        num_tasks=num_tasks,
        metrics=metrics,
        variables=list(dict.fromkeys(v for table in tables.values() for v in table.variables if variables)),
        scores={key: mean_interval(scores[key]) for key in sorted(scores, key=sort_key)},
        forgetting={key: mean_interval(values) for key, values in forgetting.items()},
        derived=[name for name in names if name in DERIVED],
    )


def mean_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The mean and its interval by Student's t, mean ± t s / √n; bounds are NaN for one value."""
    mean, runs = float(np.mean(values)), len(values)
    if runs < 2:
        return Interval(mean, math.nan, math.nan, runs)
    half_width = float(stats.t.ppf((1 + level) / 2, runs - 1) * np.std(values, ddof=1) / math.sqrt(runs))
    return Interval(mean, mean - half_width, mean + half_width, runs)
