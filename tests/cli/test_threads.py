"""Scores do not depend on the number of threads."""

from pathlib import Path

import pytest
import torch

from gpvae.metrics.task_table import TaskTable
from tests.cli.program import run_here


def test_scores_on_one_and_on_two_threads(tmp_path: Path) -> None:
    """They round differently, and the samples behind the calibration error must not follow."""
    before, tables = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            run_here(tmp_path, "fit", "-c", "toy_legs", "--figures.enabled", "false", "--name", f"on_{threads}")
            tables.append(TaskTable.read(tmp_path / "runs" / f"on_{threads}" / "seed_1" / "task_metrics.csv").scores)
    finally:
        torch.set_num_threads(before)
    one, two = tables
    assert one.keys() == two.keys()
    assert {key: one[key] for key in one if key[2] == "ece"} == {key: two[key] for key in two if key[2] == "ece"}
    assert one == pytest.approx(two, rel=1e-9, abs=1e-9)
