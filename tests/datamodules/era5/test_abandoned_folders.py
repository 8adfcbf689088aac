"""Temporary folders of killed processes are removed; those that a process is still writing are not."""

import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from datamodules.era5 import ERA5, prepared_files
from datamodules.era5.prepared_files import FOLDER

pytestmark = pytest.mark.usefixtures("_own_folder")
no_locks_here = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")


@pytest.fixture
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path))


def stream(**options: object) -> ERA5:
    small: dict[str, object] = {"points": 6, "num_tasks": 2, "hours_per_task": 20, "seed": 3, "on_disk": True}
    made = ERA5(**small | options)  # type: ignore[arg-type]
    made.prepare_data()
    made.setup()
    return made


def temporary_folders(folder: Path) -> set[Path]:
    return set((folder / FOLDER).glob("making-*"))


def leave_temporary_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> Path:
    """Leave the temporary folder of a stream whose process was killed while writing it."""

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    before = temporary_folders(folder)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        patched.setattr(prepared_files.torch, "save", killed)
        with pytest.raises(Killed):
            stream(**options)
    (left,) = temporary_folders(folder) - before
    assert len(list(left.iterdir())) == 2 * 2 * 2
    return left


def make_old(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        os.utime(path, (0, 0))


@no_locks_here
def test_the_next_run_removes_the_folder_of_a_killed_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_temporary_folder(tmp_path, monkeypatch)
    stream()
    assert [
        path.name for path in (tmp_path / FOLDER).iterdir() if path.suffix or path in temporary_folders(tmp_path)
    ] == []


def test_folders_of_other_streams_are_removed_only_when_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = leave_temporary_folder(tmp_path, monkeypatch, seed=1)
    new = leave_temporary_folder(tmp_path, monkeypatch, seed=2)
    nameless = tmp_path / FOLDER / "making-abc"  # as they were called once
    nameless.mkdir()
    make_old(old)
    make_old(nameless)
    for _ in range(2):  # whether or not there is something to make
        stream()
        assert temporary_folders(tmp_path) == {new}
    make_old(new)
    stream()
    assert temporary_folders(tmp_path) == set()


def test_without_locks_folders_are_removed_only_when_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    if sys.platform != "win32":
        monkeypatch.setattr("fcntl.flock", refuse)
    left = leave_temporary_folder(tmp_path, monkeypatch)
    stream()
    assert temporary_folders(tmp_path) == {left}
    make_old(left)
    stream()
    assert temporary_folders(tmp_path) == set()


def test_folders_of_another_machine_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("platform.node", lambda: "another")
        left = leave_temporary_folder(tmp_path, monkeypatch)
    stream()
    assert temporary_folders(tmp_path) == {left}


@no_locks_here
def test_folders_that_another_thread_is_writing_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream(on_disk=False)  # so that the sample itself is there
    prepare: Callable[..., object] = prepared_files.prepare
    writing, go_on = threading.Event(), threading.Event()
    written: list[Path] = []

    def slowly(*arguments: object, **options: object) -> object:
        made = prepare(*arguments, **options)
        if threading.current_thread() is one:
            written.extend(temporary_folders(tmp_path))
            writing.set()
            assert go_on.wait(60)
        return made

    monkeypatch.setattr(prepared_files, "prepare", slowly)
    results: list[ERA5] = []
    one, same = (threading.Thread(target=lambda: results.append(stream())) for _ in range(2))
    one.start()
    assert writing.wait(60)
    same.start()
    stream(seed=5)  # another one
    assert temporary_folders(tmp_path) == set(written)
    assert len(list(written[0].iterdir())) == 2 * 2 * 2
    assert same.is_alive()
    go_on.set()
    for thread in (one, same):
        thread.join(60)
    assert len(results) == 2
    assert temporary_folders(tmp_path) == set()


def test_without_locks_the_first_complete_folder_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream(on_disk=False)  # so that the sample itself is there
    prepare: Callable[..., object] = prepared_files.prepare

    def overtaken(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(prepared_files, "prepare", prepare)
        monkeypatch.setattr(prepared_files, "exclusive", lambda *_: nullcontext())
        stream()
        return prepare(*arguments, **options)

    monkeypatch.setattr(prepared_files, "prepare", overtaken)
    monkeypatch.setattr("gpvae.utils.locks.acquire", lambda path: os.open(path, os.O_RDWR | os.O_CREAT))
    assert stream().num_series == 6
    assert temporary_folders(tmp_path) == set()
