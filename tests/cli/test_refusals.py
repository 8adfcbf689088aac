"""Wrong options are refused before training, and the results of an earlier run are left alone."""

import errno
from pathlib import Path

import pytest

from gpvae.cli import run_folder
from tests.cli.program import refused, run_here, write_config

FIT = ["fit", "-c", "small.yaml", "--name", "small"]  # by default, options would change the folder
RUN = Path("runs/small/seed_3")


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of a run."""
    folder = tmp_path_factory.mktemp("earlier")
    write_config(folder)
    run_here(folder, *FIT)
    last = folder / RUN / "checkpoints" / "last.ckpt"
    (folder / "damaged.ckpt").write_bytes(last.read_bytes()[:2000])
    (folder / "text.ckpt").write_text("no checkpoint")
    (folder / "data").mkdir()
    (folder / "data" / "solar.mat").write_text("not the sun")
    return folder


REFUSED = {
    "more tasks than points": ([*FIT, "--data.num_tasks", "1000"], "Cannot make 1000 tasks of 45 training points"),
    "no tasks": ([*FIT, "--data.num_tasks", "0"], "num_tasks is 0"),
    "labels": ([*FIT, "--model.likelihood", "bernoulli", "--model.noise", "null"], "expects labels 0 or 1; got -"),
    "counts": ([*FIT, "--model.likelihood", "poisson", "--model.noise", "null"], "expects counts 0, 1, 2, ...; got"),
    "noise of labels": ([*FIT, "--model.likelihood", "bernoulli"], "only a Gaussian likelihood has noise"),
    "no variables": ([*FIT, "--model.num_inducing", "0"], "num_inducing must be a whole number of at least 1, got 0"),
    "negative": ([*FIT, "--model.lengthscale", "-1"], "lengthscale must be positive and finite, got -1.0"),
    "learning rate": ([*FIT, "--model.lr", "0"], "lr must be positive and finite, got 0.0"),
    "power": ([*FIT, "--model.power", "2"], "power must be between 0"),
    "checkpoints": ([*FIT, "--checkpoint.every_n_steps", "0"], "every_n_steps is at least 1"),
    "name": ([*FIT, "--name", "../up"], "the name of a run is '../up'; give a printable relative path without '..'"),
    "later checkpoints": (
        [*FIT, "--trainer.plugins", "AsyncCheckpointIO"],
        "AsyncCheckpointIO writes checkpoints later",
    ),
    "figures": ([*FIT, "--figures.dpi", "0"], "dpi is at least 1"),
    "no config": (["fit", "-c", "none.yaml"], "File does not exist"),
    "options before their class": (["fit", "--data.num_tasks", "3", "-c", "small.yaml"], "comes before its options"),
    "no data": (["fit", "--model", "StreamingGP"], "required: fit.data"),
    "no checkpoint": ([*FIT, "--ckpt_path", "none.ckpt"], "there is no checkpoint none.ckpt"),
    "no last one": (["predict", "-c", "small.yaml", "--name", "new"], "there is no checkpoint runs/new/seed_3"),
    "damaged": ([*FIT, "--ckpt_path", "damaged.ckpt"], "damaged.ckpt cannot be read as a checkpoint"),
    "text": ([*FIT, "--ckpt_path", "text.ckpt"], "text.ckpt cannot be read as a checkpoint"),
    "another model": (
        [*FIT, "--ckpt_path", "last", "--model.num_inducing", "11"],
        "another configuration: num_inducing is 10 in the checkpoint and 11 here",
    ),
    "other data": (
        [*FIT, "--ckpt_path", "last", "--data.num_tasks", "4"],
        "another configuration: num_tasks is 3 in the checkpoint and 4 here",
    ),
    "another dataset": (
        [*FIT, "--ckpt_path", "last", "--data", "Solar"],
        "class_path is 'datamodules.Toy' in the checkpoint and 'datamodules.Solar' here",
    ),
    "test of another model": (
        ["test", "-c", "small.yaml", "--name", "small", "--ckpt_path", "last", "--model.method", "OVC"],
        "method is 'OHSGPR' in the checkpoint and 'OVC' here",
    ),
    "wrong file": ([*FIT, "--data", "Solar"], "solar.mat is not the file it should be"),
    "device": ([*FIT, "--trainer.devices", "0"], "not a valid input using cpu accelerator"),
}


@pytest.mark.parametrize(("args", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(args: list[str], reason: str, earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(earlier / "data"))
    before = contents(earlier)
    message = refused(earlier, *args)
    assert reason in message
    assert "Traceback" not in message
    assert contents(earlier) == before


def test_a_run_in_progress_is_left_alone(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "LOCK_TIMEOUT", 0.0)
    with run_folder.claimed(earlier / RUN):
        before = contents(earlier)
        for args in ([], ["--ckpt_path", "last"]):
            assert "another process uses the run folder runs/small/seed_3" in refused(earlier, *FIT, *args)
        assert contents(earlier) == before


def test_a_full_disk(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reported for a checkpoint, of which nothing is left, and for files that others write."""

    def write_half(checkpoint: object, path: Path) -> None:
        path.write_text("half of it")
        raise_disk_full()

    def raise_disk_full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "a file")

    with monkeypatch.context() as patch:
        patch.setattr("lightning.fabric.plugins.io.torch_io._atomic_save", write_half)
        message = refused(earlier, *FIT, "--name", "full")
    assert "checkpoint runs/full/seed_3/checkpoints/task_01.ckpt cannot be written ([Errno 28] No space left" in message
    assert not list((earlier / "runs/full").rglob("*.ckpt*"))
    monkeypatch.setattr("lightning.pytorch.loggers.TensorBoardLogger.log_metrics", raise_disk_full)
    message = refused(earlier, *FIT, "--name", "full")
    assert message.startswith("error: the disk is full ([Errno 28] No space left on device: 'a file'): free some space")


def test_errors_before_the_run_are_not_about_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run folder does not exist yet, so it cannot have been removed."""
    write_config(tmp_path)
    (tmp_path / "file").touch()
    message = refused(tmp_path, *FIT, "--trainer.default_root_dir", "file")
    assert message.startswith("error: results cannot be written to file/small/seed_3")

    def unreadable(self: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "measurements.csv")

    monkeypatch.setattr("datamodules.Toy.prepare_data", unreadable)
    assert "Permission denied: 'measurements.csv'" in refused(tmp_path, *FIT)
    assert not (tmp_path / "runs").exists()


def test_an_interrupted_run_says_how_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    write_config(tmp_path)
    said: list[str] = []
    monkeypatch.setattr(run_folder, "rank_zero_info", said.append)
    with monkeypatch.context() as patch:
        patch.setattr("callbacks.ContinualLearning.on_train_batch_end", interrupt)
        with pytest.raises(SystemExit):
            run_here(tmp_path, *FIT)
    assert "--ckpt_path last" in said[-1]
    run_here(tmp_path, *FIT, "--ckpt_path", "last")


def test_another_loggers_folder_is_left_alone(earlier: Path) -> None:
    """Only our own run folder is moved; that of another logger may hold many runs."""
    before = contents(earlier)
    run_here(earlier, *FIT, "--name", "other", "--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", "runs")
    after = contents(earlier)
    assert {path: after[path] for path in before} == before


def test_a_fast_dev_run_leaves_nothing_behind(earlier: Path) -> None:
    before = contents(earlier)
    run_here(earlier, *FIT, "--trainer.fast_dev_run", "true")
    assert contents(earlier) == before
