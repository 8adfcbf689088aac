"""Scores of experiments over the course of a stream, from the runs that have learnt all their tasks."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.report.runs import read_runs


@dataclass(frozen=True)
class Curve:
    """A score after each task, mean over runs."""

    mean: np.ndarray
    runs: int


@dataclass(frozen=True)
class Ends:
    """The score of each task when just learnt and at the end, mean over runs."""

    first: np.ndarray
    last: np.ndarray
    runs: int


def curve(experiment: Path, metric: str, task: int | None = None) -> Curve | None:
    """The score over all tasks seen, or of one task, after each task; None if there are no runs.

    Args:
        experiment: Folder of an experiment.
        metric: Name of a metric.
        task: Number of a task, from 1.
    """
    tables = _tables(experiment)
    if not tables:
        return None
    rows = [table.seen(metric) if task is None else table.matrix(metric)[:, task - 1] for table in tables]
    return Curve(np.mean(rows, axis=0), len(tables))


def ends(experiment: Path, metric: str) -> Ends | None:
    """The score of each task when just learnt and at the end; None if there are no runs.

    Args:
        experiment: Folder of an experiment.
        metric: Name of a metric.
    """
    matrices = [table.matrix(metric) for table in _tables(experiment)]
    if not matrices:
        return None
    first = np.mean([matrix.diagonal() for matrix in matrices], axis=0)
    return Ends(first, np.mean([matrix[-1] for matrix in matrices], axis=0), len(matrices))


def _tables(experiment: Path) -> list[TaskTable]:
    folders = sorted(file.parent for file in experiment.glob(f"seed_*/{FILE_NAME}"))
    runs, _ = read_runs(folders)
    return [run.table for run in runs]
