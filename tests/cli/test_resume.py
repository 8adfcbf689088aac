"""A run resumed from the checkpoint of any step ends with the same results."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cli.cases import SERIES
from tests.cli.program import assert_same, run_here, write_config
from tests.cli.savers import Stopped

RUN = Path("runs/small/seed_3")
FIT = ["fit", "-c", "small.yaml"]

#: Few steps, so that tests can resume from each of them.
CASES: dict[str, dict[str, Any]] = {
    "closed form in two epochs": {"data": {"batch_size": 8, "epochs_per_task": 2}},
    "free form": {
        "model": {"method": "OSVGP", "hyperparameters": "train_first_task"},
        "data": {"steps_per_epoch": 3, "batch_size": 5},
    },
    "collapsed": {"model": {"method": "OSGPR"}, "data": {"steps_per_epoch": 2}},
    "series": {**SERIES, "data": SERIES["data"] | {"epochs_per_task": 2}},
    "series in closed form": {
        "model": {"class_path": "SeriesGP", "num_inducing": 8, "periods": [24.0]},
        "data": SERIES["data"] | {"epochs_per_task": 1},
    },
    "field": {
        "model": SERIES["model"] | {"latents": "field"},
        "data": SERIES["data"] | {"batch_size": None, "epochs_per_task": 2},
    },
    "field by location": {
        "model": SERIES["model"] | {"latents": "field", "location_features": 3, "static_inputs": ["sun"]},
        "data": SERIES["data"] | {"epochs_per_task": 2},
    },
}


def results(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the scores, prequential ones too, and the last checkpoint of a run."""
    checkpoint = torch.load(folder / RUN / "checkpoints" / "last.ckpt", weights_only=True)
    kept = {key: checkpoint[key] for key in ("state_dict", "optimizer_states", "epoch", "global_step")}
    return b"".join((folder / RUN / name).read_bytes() for name in ("task_metrics.csv", "foresight.csv")), kept


def resume(folder: Path, checkpoint: Path, *args: str) -> Path:
    """Resume from a checkpoint in a new folder, and return it."""
    elsewhere = folder / f"from_{checkpoint.stem}"
    elsewhere.mkdir()
    shutil.copy(folder / "small.yaml", elsewhere)
    run_here(elsewhere, *FIT, "--ckpt_path", str(checkpoint), *args)
    return elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_from_every_step(case: str, tmp_path: Path) -> None:
    write_config(tmp_path, **CASES[case])
    run_here(tmp_path, *FIT, "--allow", "tests", "--trainer.callbacks", "tests.cli.savers.SaveEveryStep")
    table, last = results(tmp_path)
    checkpoints = sorted((tmp_path / "steps").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert len([path for path in checkpoints if path.stem.startswith("evaluated")]) == 3
    for checkpoint in checkpoints[:-1]:  # the last one is that of the complete run
        again, end = results(resume(tmp_path, checkpoint))
        assert again == table, checkpoint.name
        assert_same(last, end, checkpoint.name)


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "a config"])
def test_from_before_the_first_checkpoint(left: str, tmp_path: Path) -> None:
    """The same command starts and resumes a run, even if it was killed before its first checkpoint."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        write_config(folder)
    run_here(whole, *FIT)
    if left != "nothing":
        (killed / RUN).mkdir(parents=True)
    if left == "a config":
        shutil.copy(whole / RUN / "config.yaml", killed / RUN)
    run_here(killed, *FIT, "--ckpt_path", "last")
    (table, last), (again, end) = results(whole), results(killed)
    assert again == table
    assert_same(last, end)
    assert not (killed / "runs" / ".earlier").exists()


def test_from_a_users_checkpoint_at_the_last_batch_of_a_task(tmp_path: Path) -> None:
    """Lightning considers such an epoch complete, and would skip the evaluation of its task."""
    write_config(tmp_path, **CASES["free form"])
    own = ["--trainer.callbacks", "ModelCheckpoint", "--trainer.callbacks.every_n_train_steps", "3"]
    own += ["--trainer.callbacks.dirpath", "own", "--trainer.callbacks.save_top_k", "-1"]
    run_here(tmp_path, *FIT, *own)
    table, last = results(tmp_path)
    found = sorted((tmp_path / "own").iterdir())
    assert len(found) == 3
    for checkpoint in found:
        again, end = results(resume(tmp_path, checkpoint))
        assert again == table, checkpoint.name
        assert_same(last, end, checkpoint.name)


def test_accumulated_gradients_are_not_lost(tmp_path: Path) -> None:
    """A checkpoint between the batches of one step would lose the gradients of the first ones."""
    write_config(tmp_path, **CASES["free form"] | {"data": {"steps_per_epoch": 7, "batch_size": 5}})
    args = ["--trainer.accumulate_grad_batches", "3", "--checkpoint.every_n_steps", "1"]
    run_here(tmp_path, *FIT, *args)
    table, last = results(tmp_path)
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    shutil.copy(tmp_path / "small.yaml", stopped)
    stop = [
        "--allow",
        "tests",
        "--trainer.callbacks",
        "tests.cli.savers.StopAfter",
        "--trainer.callbacks.batches",
        "12",
    ]
    with pytest.raises(Stopped):
        run_here(stopped, *FIT, *args, *stop)
    run_here(stopped, *FIT, *args, "--ckpt_path", "last")
    again, end = results(stopped)
    assert again == table
    assert_same(last, end)


@pytest.mark.parametrize(
    "logger", [["CSVLogger", "--trainer.logger.save_dir", "logs"], ["false"]], ids=["another", "none"]
)
def test_results_are_in_one_place_whatever_the_logger(logger: list[str], tmp_path: Path) -> None:
    write_config(tmp_path)
    args = ["--trainer.logger", *logger]
    run_here(tmp_path, *FIT, *args)
    table, last = results(tmp_path)
    assert (tmp_path / RUN / "config.yaml").is_file()
    (tmp_path / RUN / "checkpoints" / "task_02.ckpt").replace(tmp_path / RUN / "checkpoints" / "last.ckpt")
    run_here(tmp_path, *FIT, *args, "--ckpt_path", "last")
    again, end = results(tmp_path)
    assert again == table
    assert_same(last, end)
