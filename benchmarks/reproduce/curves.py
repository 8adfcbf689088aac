"""Scores of experiments along a stream, from finished runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.results.runs import read_runs


@dataclass(frozen=True)
class Ends:
    """The score of each task when just learnt and at the end, mean over runs."""

    first: np.ndarray
    last: np.ndarray


def common_seeds(experiments: Iterable[Path]) -> list[str]:
    """Names of the seeds that all experiments have finished; experiments without finished runs do not count.

    Args:
        experiments: Folders of experiments.
    """
    finished = [set(_tables(experiment)) for experiment in experiments]
    known = [seeds for seeds in finished if seeds]
    return sorted(set.intersection(*known)) if known else []


def curve(experiment: Path, metric: str, seeds: Sequence[str], task: int | None = None) -> np.ndarray | None:
    """The score over all tasks seen, or of one task, after each task, mean over seeds; None if there are no runs.

    Args:
        experiment: Folder of an experiment.
        metric: Name of a metric.
        seeds: Names of seeds.
        task: Number of a task, from 1.
    """
    tables = _tables(experiment)
    rows = [
        tables[seed].seen(metric) if task is None else tables[seed].matrix(metric)[:, task - 1]
        for seed in seeds
        if seed in tables
    ]
    return np.mean(rows, axis=0) if rows else None


def ends(experiment: Path, metric: str, seeds: Sequence[str]) -> Ends | None:
    """The score of each task when just learnt and at the end; None if there are no runs.

    Args:
        experiment: Folder of an experiment.
        metric: Name of a metric.
        seeds: Names of seeds.
    """
    tables = _tables(experiment)
    matrices = [tables[seed].matrix(metric) for seed in seeds if seed in tables]
    if not matrices:
        return None
    first = np.mean([matrix.diagonal() for matrix in matrices], axis=0)
    return Ends(first, np.mean([matrix[-1] for matrix in matrices], axis=0))


@cache
def _tables(experiment: Path) -> dict[str, TaskTable]:
    folders = sorted(file.parent for file in experiment.glob(f"seed_*/{FILE_NAME}"))
    runs, _ = read_runs(folders)
    return {run.folder.name: run.table for run in runs}
