"""What a kill leaves of values kept in files is removed; what somebody is still writing is not."""

import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from datamodules.era5 import ERA5, prepared
from datamodules.era5.prepared import FOLDER

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


def unfinished(folder: Path) -> set[Path]:
    return set((folder / FOLDER).glob("making-*"))


def leave(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> Path:
    """Have a stream written that never gets to its end, nor to cleaning up."""

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    before = unfinished(folder)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        patched.setattr(prepared.torch, "save", killed)
        with pytest.raises(Killed):
            stream(**options)
    (left,) = unfinished(folder) - before
    assert len(list(left.iterdir())) == 2 * 2 * 2
    return left


def make_old(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        os.utime(path, (0, 0))


@no_locks_here
def test_what_a_kill_left_is_removed_by_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(tmp_path, monkeypatch)
    stream()
    assert [path.name for path in (tmp_path / FOLDER).iterdir() if path.suffix or path in unfinished(tmp_path)] == []


def test_of_other_streams_only_what_is_old_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = leave(tmp_path, monkeypatch, seed=1)
    new = leave(tmp_path, monkeypatch, seed=2)
    nameless = tmp_path / FOLDER / "making-abc"  # as they were called once
    nameless.mkdir()
    make_old(old)
    make_old(nameless)
    for _ in range(2):  # whether or not there is something to make
        stream()
        assert unfinished(tmp_path) == {new}
    make_old(new)
    stream()
    assert unfinished(tmp_path) == set()


def test_where_others_are_not_kept_out_only_what_is_old_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    if sys.platform != "win32":
        monkeypatch.setattr("fcntl.flock", refuse)
    left = leave(tmp_path, monkeypatch)
    stream()
    assert unfinished(tmp_path) == {left}
    make_old(left)
    stream()
    assert unfinished(tmp_path) == set()


def test_another_machine_may_be_writing_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("platform.node", lambda: "another")
        left = leave(tmp_path, monkeypatch)
    stream()
    assert unfinished(tmp_path) == {left}


@no_locks_here
def test_nothing_is_removed_that_somebody_is_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream(on_disk=False)  # so that the sample itself is there
    prepare: Callable[..., object] = prepared.prepare
    writing, go_on = threading.Event(), threading.Event()
    written: list[Path] = []

    def slowly(*arguments: object, **options: object) -> object:
        made = prepare(*arguments, **options)
        if threading.current_thread() is one:
            written.extend(unfinished(tmp_path))
            writing.set()
            assert go_on.wait(60)
        return made

    monkeypatch.setattr(prepared, "prepare", slowly)
    results: list[ERA5] = []
    one, same = (threading.Thread(target=lambda: results.append(stream())) for _ in range(2))
    one.start()
    assert writing.wait(60)
    same.start()
    stream(seed=5)  # another one
    assert unfinished(tmp_path) == set(written)
    assert len(list(written[0].iterdir())) == 2 * 2 * 2
    assert same.is_alive()
    go_on.set()
    for thread in (one, same):
        thread.join(60)
    assert len(results) == 2
    assert unfinished(tmp_path) == set()


def test_where_others_are_not_kept_out_the_first_to_finish_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream(on_disk=False)  # so that the sample itself is there
    prepare: Callable[..., object] = prepared.prepare

    def overtaken(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(prepared, "prepare", prepare)
        monkeypatch.setattr(prepared, "exclusive", lambda *_: nullcontext())
        stream()
        return prepare(*arguments, **options)

    monkeypatch.setattr(prepared, "prepare", overtaken)
    monkeypatch.setattr("gpvae.utils.locks.acquire", lambda path: os.open(path, os.O_RDWR | os.O_CREAT))
    assert stream().num_series == 6
    assert unfinished(tmp_path) == set()
