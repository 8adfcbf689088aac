"""Values kept in files: the same stream, made once, whoever else wants it at the same time."""

import multiprocessing
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from datamodules.era5 import ERA5
from datamodules.era5.prepared_files import FOLDER

OPTIONS = {"points": 6, "num_tasks": 3, "hours_per_task": 20, "seed": 3, "batch_size": 2}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path))
    return tmp_path


def stream(on_disk: bool = True, **options: object) -> ERA5:
    made = ERA5(**OPTIONS | options, on_disk=on_disk)  # type: ignore[arg-type]
    made.prepare_data()
    made.setup()
    return made


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (folder / FOLDER).rglob("*") if path.is_file()}


def test_tasks_scores_and_scale_are_those_of_memory() -> None:
    ours, theirs = stream(), stream(on_disk=False)
    for task in range(3):
        for one, other in zip(ours.task_data(task), theirs.task_data(task), strict=True):
            assert torch.equal(one, other)
        for one, other in zip(ours.test_loader(task, 0, 1), theirs.test_loader(task, 0, 1), strict=True):
            assert all(torch.equal(*pair) for pair in zip(one, other, strict=True))
    values, series = torch.randn(2, 5, 17), torch.tensor([1, 4])
    assert torch.equal(ours.to_physical(values, series), theirs.to_physical(values, series))


def test_values_stay_in_files_that_later_streams_find(own_folder: Path) -> None:
    first = stream()
    written = files(own_folder)
    assert sum(path.name.startswith("train") for path in written) == 2 * 3
    before = {path: path.read_bytes() for path in written}
    first.task_data(0).y.fill_(5.0)  # whoever changes what is read changes but a copy of it
    assert {path: path.read_bytes() for path in written} == before
    stream(batch_size=3, epochs_per_task=7)  # neither has to do with the values
    assert files(own_folder) == written
    stream(test_share=0.3)
    assert len(files(own_folder)) == 2 * len(written)


def test_nothing_is_left_of_what_could_not_be_written(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.posix_fallocate", full)
        with pytest.raises(
            OSError, match=r"no disk space for .* GB in .* \(No space left on device\): choose a folder"
        ):
            stream()
    assert not files(own_folder)
    assert stream().num_series == 6


def _started_together(barrier: object, folder: str, results: object) -> None:
    os.environ["GPVAE_DATA_DIR"] = folder
    barrier.wait()  # type: ignore[attr-defined]
    results.put(float(stream().task_data(1).y.double().sum()))  # type: ignore[attr-defined]


@pytest.mark.slow
def test_processes_that_start_together_write_once(own_folder: Path) -> None:
    stream(on_disk=False)  # so that the sample itself is there
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_started_together, args=(barrier, str(own_folder), results)) for _ in range(2)]
    for process in processes:
        process.start()
    sums = {results.get(timeout=1800) for _ in processes}
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert len(sums) == 1
    assert len(list((own_folder / FOLDER).iterdir())) == 1  # no locks, and nothing half made


def test_files_are_on_the_disk_before_they_are_found(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream(on_disk=False)  # so that the sample itself is there
    settled, fsync = set(), os.fsync

    def watched(descriptor: int) -> None:
        assert not [path for path in (own_folder / FOLDER).glob("*/scaling.pt") if "making-" not in path.parent.name]
        settled.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", watched)
    stream()
    written = files(own_folder)
    assert len(written) == 2 * 2 * 3 + 1
    assert {path.stat().st_ino for path in written} <= settled


def test_systems_that_cannot_reserve_room_look_whether_there_is_any(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.posix_fallocate")
    with monkeypatch.context() as patched:
        patched.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10))
        with pytest.raises(OSError, match=r"no disk space for .* GB in .* \(No space left on device\)"):
            stream()
    assert stream().num_series == 6
