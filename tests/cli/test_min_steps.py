"""Small grids get a minimum number of optimiser steps for each task; runs of earlier versions go on without it."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cli.cases import SERIES
from tests.cli.program import assert_same, refused, run_here, weights, write_config

LAST = Path("runs") / "small" / "seed_3" / "checkpoints" / "last.ckpt"
FIT = ("fit", "-c", "small.yaml", "--report.print_table", "false")


def start(folder: Path, **data: Any) -> Path:
    folder.mkdir(exist_ok=True)
    write_config(folder, model=SERIES["model"], data={**SERIES["data"], "num_tasks": 2, "epochs_per_task": 2, **data})
    return folder


def steps(folder: Path) -> int:
    return torch.load(folder / LAST, weights_only=True)["global_step"]


@pytest.mark.parametrize(
    ("min_steps", "expected"),
    [(None, 4), (4, 4), (9, 12)],  # two batches a pass, two epochs a task
)
def test_steps_of_each_task(min_steps: int | None, expected: int, tmp_path: Path) -> None:
    folder = start(tmp_path, min_steps_per_task=min_steps)
    run_here(folder, *FIT, "--data.stop_after", "1")
    assert steps(folder) == expected


def test_a_run_of_a_version_without_it_goes_on_as_it_began(tmp_path: Path) -> None:
    whole, older = start(tmp_path / "whole"), start(tmp_path / "older")
    run_here(whole, *FIT)
    run_here(older, *FIT, "--data.stop_after", "1")
    checkpoint = torch.load(older / LAST, weights_only=True)
    del checkpoint["datamodule_hyper_parameters"]["min_steps_per_task"]
    torch.save(checkpoint, older / LAST)
    start(older, min_steps_per_task=40)  # the config has it by now
    for _ in range(2):  # also from the checkpoint that it writes itself
        run_here(older, *FIT, "--ckpt_path", "last")
        assert_same(weights(whole / LAST), weights(older / LAST))
    start(whole, min_steps_per_task=40)
    message = refused(whole, *FIT, "--ckpt_path", "last")
    assert "min_steps_per_task is None in the checkpoint and 40 here" in message
    assert "add --accept changed" in message


def test_it_is_taken_from_the_next_task_on_if_that_is_accepted(tmp_path: Path) -> None:
    folder = start(tmp_path)
    run_here(folder, *FIT, "--data.stop_after", "1")
    run_here(folder, *FIT, "--ckpt_path", "last", "--data.min_steps_per_task", "9", "--accept", "changed")
    assert steps(folder) == 4 + 12
