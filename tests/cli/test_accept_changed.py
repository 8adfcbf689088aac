"""Options that change in the course of a run: only if the user accepts it, between two tasks, and recorded."""

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from gpvae.metrics import TaskTable
from gpvae.results.config_history import FILE_NAME
from tests.cli.cases import SERIES
from tests.cli.program import assert_same, refused, run_here, weights, write_config

RUN = Path("runs") / "small" / "seed_3"
LAST = RUN / "checkpoints" / "last.ckpt"
FIT = ("fit", "-c", "small.yaml", "--ckpt_path", "last", "--report.print_table", "false")
ACCEPT = ("--accept", "changed")
POINTS: dict[str, dict[str, Any]] = {
    "model": {"method": "OHSVGP", "lr": 0.02},
    "data": {"steps_per_epoch": 4, "batch_size": 5, "epochs_per_task": 3},
}
CASES = {"points": POINTS, "series": {**SERIES, "data": SERIES["data"] | {"epochs_per_task": 3}}}


def start(folder: Path, case: str) -> Path:
    folder.mkdir(exist_ok=True)
    write_config(folder, **CASES[case])
    return folder


def learning_rate(folder: Path) -> float:
    checkpoint = torch.load(folder / LAST, weights_only=True)
    return checkpoint["optimizer_states"][0]["param_groups"][0]["lr"]


@pytest.mark.parametrize(("case", "epochs"), [("points", 1), ("points", 5), ("series", 2)])
def test_the_next_tasks_take_the_new_values(
    case: str, epochs: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = start(tmp_path, case)
    run_here(folder, *FIT, "--data.stop_after", "2")
    steps = torch.load(folder / LAST, weights_only=True)["global_step"]
    before = TaskTable.read(folder / RUN / "task_metrics.csv").scores
    new = ("--data.epochs_per_task", str(epochs), "--model.lr", "0.001")
    run_here(folder, *FIT, *new, *ACCEPT)  # in the same run folder, though options are given
    assert f"From task 3 on, data.epochs_per_task is {epochs}; it was 3." in caplog.text
    table = TaskTable.read(folder / RUN / "task_metrics.csv")
    assert table.num_tasks == 3
    assert {key: value for key, value in table.scores.items() if key[0] <= 2} == before
    last = torch.load(folder / LAST, weights_only=True)
    assert last["hyper_parameters"]["lr"] == 0.001
    if case == "points":  # a GP-VAE may lower it in the course of a task
        assert learning_rate(folder) == 0.001
    assert last["global_step"] == steps + steps // 6 * epochs
    (entry,) = yaml.safe_load((folder / RUN / FILE_NAME).read_text())
    assert entry["after_task"] == 2
    old_rate = 0.02 if case == "points" else 0.005
    assert entry["changed"] == {
        "model.lr": {"from": old_rate, "to": 0.001},
        "data.epochs_per_task": {"from": 3, "to": epochs},
    }
    # From now on these are the options of the run.
    run_here(folder, *FIT, *new, "--name", "small")
    message = refused(folder, *FIT)
    assert f"lr is 0.001 in the checkpoint and {old_rate} here" in message


@pytest.mark.parametrize("case", CASES)
def test_nothing_else_changes(case: str, tmp_path: Path) -> None:
    """A run that accepts changes and has none, or changes back, ends with the same bits."""
    whole, other = start(tmp_path / "whole", case), start(tmp_path / "other", case)
    run_here(whole, *FIT)
    run_here(other, *FIT, "--data.stop_after", "1")
    run_here(other, *FIT, *ACCEPT)
    assert_same(weights(whole / LAST), weights(other / LAST))
    assert not (other / RUN / FILE_NAME).exists()


def test_what_differs_is_told_with_the_option_that_accepts_it(tmp_path: Path) -> None:
    folder = start(tmp_path, "points")
    run_here(folder, *FIT, "--data.stop_after", "2")
    same_run = ("--name", "small")
    message = refused(folder, *FIT, *same_run, "--data.batch_size", "7", "--model.lr", "0.5")
    assert "lr is 0.02 in the checkpoint and 0.5 here" in message
    assert "to go on with the new values from here on, add --accept changed" in message
    message = refused(folder, *FIT, *same_run, "--data.batch_size", "7")
    assert "batch_size is 5 in the checkpoint and 7 here" in message
    assert "add --accept changed" in message
    message = refused(folder, *FIT, *same_run, *ACCEPT, "--model.num_inducing", "12", "--model.lr", "0.5")
    assert "num_inducing is 10 in the checkpoint and 12 here" in message
    assert "--accept changed allows lr to change, but not num_inducing" in message
    message = refused(folder, *FIT, *same_run, *ACCEPT, "--data.num_tasks", "4")
    assert "num_tasks is 3 in the checkpoint and 4 here" in message
    assert "accept" not in message
    assert not (folder / RUN / FILE_NAME).exists()


def test_a_task_is_finished_with_the_options_it_began_with(tmp_path: Path) -> None:
    folder = start(tmp_path, "points")
    run_here(folder, *FIT, "--trainer.max_epochs", "4")  # within the second task
    message = refused(folder, *FIT, *ACCEPT, "--model.lr", "0.5")
    assert "the checkpoint is within task 2, and model.lr can change only between two tasks" in message
    assert "by --data.stop_after 2" in message
    run_here(folder, *FIT, "--data.stop_after", "2")
    run_here(folder, *FIT, *ACCEPT, "--model.lr", "0.5")
    assert learning_rate(folder) == 0.5


def test_history_keeps_every_change(tmp_path: Path) -> None:
    folder = start(tmp_path, "points")
    for count, rate in ((1, "0.02"), (2, "0.01"), (3, "0.005")):
        run_here(folder, *FIT, *ACCEPT, "--model.lr", rate, "--data.stop_after", str(count))
    history = yaml.safe_load((folder / RUN / FILE_NAME).read_text())
    assert [(entry["after_task"], entry["changed"]["model.lr"]) for entry in history] == [
        (1, {"from": 0.02, "to": 0.01}),
        (2, {"from": 0.01, "to": 0.005}),
    ]
    first = str(folder / RUN / "checkpoints" / "task_01.ckpt")
    run_here(folder, "fit", "-c", "small.yaml", "--ckpt_path", first, *ACCEPT, "--model.lr", "0.1")
    assert [entry["after_task"] for entry in yaml.safe_load((folder / RUN / FILE_NAME).read_text())] == [1]
