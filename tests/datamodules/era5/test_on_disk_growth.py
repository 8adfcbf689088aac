"""Values kept in files when data arrive: only new tasks are written, and those whose values have changed."""

from pathlib import Path

import pytest
import torch
import xarray as xr

from datamodules.era5 import ERA5, prepared_files
from datamodules.era5.prepared_files import FOLDER
from tests.datamodules.era5.written import weather, write_new


@pytest.fixture
def pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[xr.Dataset]:
    """Pieces of 45, 20 and 20 hours: two whole tasks, three, and four."""
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    data = weather(85)
    return [data.isel(time=slice(*ends)) for ends in ((0, 45), (45, 65), (65, 85))]


def stream(folder: Path, on_disk: bool = True, **options: object) -> ERA5:
    made = ERA5("files", str(folder / "*.nc"), points=None, hours_per_task=20, on_disk=on_disk, **options)  # type: ignore[arg-type]
    made.setup()
    return made


def written(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of values, with what changes when they are written."""
    files = (folder / "data" / FOLDER).glob("*/*_of_1")
    states = {path: path.stat() for path in files}
    return {f"{path.parent.name[:4]}/{path.name}": (state.st_ino, state.st_mtime_ns) for path, state in states.items()}


def assert_as_in_memory(made: ERA5, folder: Path) -> None:
    other = stream(folder, on_disk=False)
    assert made.num_tasks == other.num_tasks
    for task in range(made.num_tasks):
        for one, two in zip(made.task_data(task), other.task_data(task), strict=True):
            assert torch.equal(one, two)
    assert made._prepared().observed == other._prepared().observed


def test_new_files_are_appended(pieces: list[xr.Dataset], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before: dict[str, tuple[int, int]] = {}
    for number, piece in enumerate(pieces):
        write_new(piece, tmp_path / f"{number}.nc")
        caplog.clear()
        assert_as_in_memory(stream(tmp_path), tmp_path)
        now = written(tmp_path)
        assert len(now) == 4 * (2 + number)
        assert before.items() <= now.items()  # what was there is left as it is
        if number:
            assert f"Writing the values of task {2 + number} to" in caplog.text
            assert "all tasks" not in caplog.text
        before = now
    caplog.clear()
    assert stream(tmp_path, num_tasks=3).num_tasks == 3
    assert written(tmp_path) == before
    assert "Writing" not in caplog.text


def test_records_of_an_earlier_version_are_understood(pieces: list[xr.Dataset], tmp_path: Path) -> None:
    """They have a second digest of values, after that of hours."""
    write_new(pieces[0], tmp_path / "0.nc")
    stream(tmp_path)
    (path,) = (tmp_path / "data" / FOLDER).glob("*/scaling.pt")
    saved = torch.load(path, weights_only=True)
    torch.save(saved | {"tasks": [(one[0], "former", *one[1:]) for one in saved["tasks"]]}, path)
    before = written(tmp_path)
    (tmp_path / "0.nc").touch()  # so that values are read and compared again
    stream(tmp_path)
    assert written(tmp_path) == before


def test_a_file_that_grows_is_read_again_but_only_new_tasks_are_written(
    pieces: list[xr.Dataset], tmp_path: Path
) -> None:
    write_new(xr.concat(pieces[:2], "time"), tmp_path / "all.nc")
    stream(tmp_path)
    before = written(tmp_path)
    write_new(xr.concat(pieces, "time"), tmp_path / "all.nc")
    assert_as_in_memory(stream(tmp_path), tmp_path)
    assert before.items() < written(tmp_path).items()


def test_revised_values_are_written_again(pieces: list[xr.Dataset], tmp_path: Path) -> None:
    for number, piece in enumerate(pieces):
        write_new(piece, tmp_path / f"{number}.nc")
    stream(tmp_path)
    before = written(tmp_path)
    write_new(pieces[1] + 0.5, tmp_path / "1.nc")  # within the third task
    assert_as_in_memory(stream(tmp_path), tmp_path)
    changed = {name for name, state in written(tmp_path).items() if before[name] != state}
    assert {name.split("_")[1] for name in changed} == {"02", "03"}
    assert not any("_00_" in name or "_01_" in name for name in changed)
    write_new(pieces[0] + 0.5, tmp_path / "0.nc")  # the scale changes: another folder
    assert_as_in_memory(stream(tmp_path), tmp_path)
    assert len({name[:4] for name in written(tmp_path)}) == 2


@pytest.mark.parametrize("revised", [False, True])
def test_a_run_that_is_killed_while_it_adds_a_task_leaves_nothing_wrong(
    revised: bool, pieces: list[xr.Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, piece in enumerate(pieces[:2]):
        write_new(piece, tmp_path / f"{number}.nc")
    stream(tmp_path)
    write_new(pieces[1] + 0.5 if revised else pieces[2], tmp_path / f"{1 if revised else 2}.nc")
    scale_task = prepared_files.scale_task

    class Killed(BaseException):
        pass

    def half(*arguments: object) -> None:
        for part in scale_task(*arguments).values():  # type: ignore[arg-type]
            part.y.fill_(-7.0)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(prepared_files, "scale_task", half)
        with pytest.raises(Killed):
            stream(tmp_path)
    assert_as_in_memory(stream(tmp_path), tmp_path)
