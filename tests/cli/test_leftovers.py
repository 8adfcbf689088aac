"""What killed processes leave is removed by the next run, and odd words are refused in a sentence."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from callbacks.continual import ContinualLearning
from gpvae.utils.atomic import process_name
from tests.cli.cases import SERIES
from tests.cli.program import refused, run_here, write_config
from tests.datamodules.era5.written import weather, write_step_types, write_zip

FIT = ("fit", "-c", "small.yaml", "--report.print_table", "false")
RUN = Path("runs") / "small" / "seed_3"


@pytest.fixture
def killed() -> str:
    """The name of a process that has ended."""
    code = "from gpvae.utils.atomic import process_name; print(process_name())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_unfinished_checkpoints(tmp_path: Path) -> None:
    write_config(tmp_path)
    run_here(tmp_path, *FIT, "--data.stop_after", "1")
    left = tmp_path / RUN / "checkpoints" / "task_07.ckpt.part"
    left.write_bytes(b"half")
    run_here(tmp_path, *FIT, "--ckpt_path", "last")
    assert not left.exists()


def test_batches_of_a_killed_prediction(killed: str, tmp_path: Path) -> None:
    write_config(tmp_path, **SERIES)
    run_here(tmp_path, *FIT, "--data.stop_after", "1")
    left, other = (tmp_path / RUN / f".predictions.nc.{name}" for name in (killed, process_name()))
    for folder in (left, other):
        folder.mkdir()
        (folder / "0_0_0.npy").write_bytes(b"half")
    run_here(tmp_path, "predict", "-c", "small.yaml", "--data.stop_after", "1")
    assert not left.exists()
    assert (tmp_path / RUN / "predictions.nc").is_file()
    left.mkdir()
    other.mkdir(exist_ok=True)
    run_here(tmp_path, *FIT, "--ckpt_path", "last")
    assert not left.exists()
    assert other.exists()  # whose process is alive: this one


def test_unpacked_archives(killed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datamodules.era5 import Archive

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f"gpvae-era5-abc-{killed}"
    left.mkdir()
    write_zip(write_step_types(weather(), tmp_path), tmp_path / "a.zip")
    with Archive(str(tmp_path / "a.zip")):
        assert not left.exists()
        assert len(list(tmp_path.glob("gpvae-era5-*"))) == 1
    assert not list(tmp_path.glob("gpvae-era5-*"))


@pytest.mark.parametrize("hook", ["on_train_epoch_start", "on_train_batch_end", "on_validation_start"])
def test_a_run_folder_that_is_removed(hook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_config(tmp_path)
    original, calls = getattr(ContinualLearning, hook), []

    def removing(self: ContinualLearning, *args: Any, **options: Any) -> None:
        calls.append(hook)
        if len(calls) == 2:
            shutil.rmtree("runs")
        original(self, *args, **options)

    monkeypatch.setattr(ContinualLearning, hook, removing)
    message = refused(tmp_path, *FIT)
    assert f"the run folder {RUN} has been removed while the run was under way" in message
    assert message.endswith("start it again")


@pytest.mark.parametrize("command", ["fit", "predict"])
@pytest.mark.parametrize("given", ["", "  "])
def test_an_empty_checkpoint(command: str, given: str, tmp_path: Path) -> None:
    write_config(tmp_path)
    assert "--ckpt_path is empty: give `last`" in refused(tmp_path, command, "-c", "small.yaml", "--ckpt_path", given)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", [".", "./", "  ", ".earlier", ".earlier/x", "a/.b", "../x"])
def test_names_that_are_none(name: str, tmp_path: Path) -> None:
    write_config(tmp_path)
    assert f"the name of a run is {name!r}; give a printable relative path" in refused(tmp_path, *FIT, "--name", name)
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", "[bold"])
def test_names_with_brackets_are_printed_as_they_are(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_config(tmp_path)
    run_here(tmp_path, "fit", "-c", "small.yaml", "--name", name, "--data.stop_after", "1")
    run_here(tmp_path, "predict", "-c", "small.yaml", "--name", name, "--data.stop_after", "1")
    run_here(tmp_path, "summary", f"runs/{name}", f"runs/{name}/seed_3/task_metrics.csv")
    printed = capsys.readouterr().out
    assert f"predictions are in runs/{name}/seed_3/predictions.csv" in printed
    assert f"checkpoints are in runs/{name}/seed_3" in printed


def test_websites_are_no_folders(tmp_path: Path) -> None:
    write_config(tmp_path)
    address = "http://localhost:1/x"
    for logger in ("TensorBoardLogger", "CSVLogger"):
        message = refused(tmp_path, *FIT, "--trainer.logger", logger, "--trainer.logger.save_dir", address)
        assert f"save_dir of the logger is {address!r}, but results are written to a folder: give its path" in message
    assert "trainer.default_root_dir is" in refused(tmp_path, *FIT, "--trainer.default_root_dir", address)
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]
