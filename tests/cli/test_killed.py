"""A run that is killed at any moment and resumed ends with the same results."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.cli.cases import CASES
from tests.cli.program import assert_same, environment, run_here, script, write_config
from tests.cli.test_resume import RUN, results

COMMAND = ["fit", "-c", "small.yaml", "--checkpoint.every_n_steps", "2"]


def kill_after(num_checkpoints: int, folder: Path, command: Sequence[str] = COMMAND, run: Path = RUN) -> bool:
    """Start the program, kill it after a number of new checkpoints, and return whether it was still running."""
    last = folder / run / "checkpoints" / "last.ckpt"
    there = {last.stat().st_mtime_ns} if last.exists() else set()
    process = subprocess.Popen(
        [script(), *command],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    seen: set[int] = set()
    while process.poll() is None and len(seen - there) < num_checkpoints:
        if last.exists():
            seen.add(last.stat().st_mtime_ns)
        time.sleep(0.0005)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    return process.returncode == -signal.SIGKILL


def logged(folder: Path) -> dict[str, set[int]]:
    """Return the steps of scalars, except those of training: Lightning logs them after the checkpoint of a step."""
    events = EventAccumulator(str(folder / RUN)).Reload()
    tags = [tag for tag in events.Tags()["scalars"] if tag != "epoch" and not tag.startswith("train/")]
    return {tag: {event.step for event in events.Scalars(tag)} for tag in tags}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_killed_and_resumed(case: str, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        write_config(folder, **CASES[case])
    run_here(whole, *COMMAND)
    num_checkpoints = random.Random(case).randint(2, 5 if case == "closed form" else 30)
    while not kill_after(num_checkpoints, killed):
        num_checkpoints = max(1, num_checkpoints // 2)  # the run ended first
    assert (killed / RUN / "checkpoints" / "last.ckpt").exists()
    run_here(killed, *COMMAND, "--ckpt_path", "last")
    (table, last), (again, end) = results(whole), results(killed)
    assert again == table
    assert_same(last, end)
    assert logged(killed) == logged(whole)
    assert not list((killed / RUN).rglob("*.part"))
