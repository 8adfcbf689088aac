"""Runs that start together send no request twice, and wait for each other until the deadline at most."""

import errno
import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from datamodules.era5 import cds
from datamodules.era5.cds.errors import DownloadFailed
from datamodules.era5.cds.locks import RequestLocks
from datamodules.era5.cds.retry import Deadline
from tests.cli.program import environment
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.runs import REQUESTS, check_data, left_over, stream
from tests.datamodules.era5.cds.scenarios import TOO_LATE
from tests.datamodules.era5.cds.server import Store

pytestmark = pytest.mark.usefixtures("hurried")

ROOT = Path(__file__).parents[4]
HALF_A_SECOND, TEN_MINUTES = 0.5 / 3600, 600 / 3600
PROGRAM = f"from tests.datamodules.era5.cds.runs import stream; stream(download_hours={TEN_MINUTES}).prepare_data()"
WAITING = "ERA5 of 2020-01-30 to 31 (3 variables): waiting for another run, which is downloading it."


def test_two_processes(store: Store, weather: Weather, tmp_path: Path) -> None:
    store.behaviour.states = [["running"]] * 2  # until both are there
    ours = threading.Thread(target=stream(download_hours=TEN_MINUTES).prepare_data)
    ours.start()
    while len(store.posts) < 2 and ours.is_alive():
        time.sleep(0.01)
    theirs = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert theirs.stderr is not None
    waiting = next((line for line in theirs.stderr if "waiting" in line), "nothing")
    store.repair()
    ours.join()
    rest = theirs.communicate(timeout=600)[1]
    assert waiting.strip() == WAITING
    assert theirs.returncode == 0, rest
    assert "resuming job" not in rest
    assert store.posts == REQUESTS
    assert left_over(tmp_path / "data") == []
    check_data(weather)


@pytest.mark.parametrize("too_large", [False, True])
def test_many_runs_at_once(store: Store, weather: Weather, tmp_path: Path, too_large: bool) -> None:
    if too_large:
        store.behaviour.most_fields = 30
    with ThreadPoolExecutor(4) as pool:
        for run in [pool.submit(stream().prepare_data) for _ in range(4)]:
            run.result()
    assert len(store.posts) == (9 if too_large else 2)
    assert left_over(tmp_path / "data") == []
    check_data(weather)


def test_many_runs_that_fetch_final_data_at_once(store: Store, weather: Weather) -> None:
    store.behaviour.preliminary = True
    stream().prepare_data()
    store.repair()
    with ThreadPoolExecutor(3) as pool:
        for run in [pool.submit(stream(refetch_preliminary=True).prepare_data) for _ in range(3)]:
            run.result()
    assert len(store.posts) == 4
    check_data(weather)


def test_nobody_waits_beyond_the_deadline(
    store: Store, weather: Weather, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other, began = RequestLocks(Deadline(1.0)), time.monotonic()
    assert other.acquire(REQUESTS[0])
    with caplog.at_level(logging.INFO), pytest.raises(DownloadFailed, match=TOO_LATE):
        stream(download_hours=HALF_A_SECOND).prepare_data()
    assert time.monotonic() - began < 20
    assert caplog.messages.count(WAITING) == 1
    assert store.calls == []
    other.close()
    stream().prepare_data()
    assert left_over(tmp_path / "data") == []
    check_data(weather)


def test_runs_wait_only_for_files_that_another_run_downloads(store: Store, weather: Weather) -> None:
    other = RequestLocks(Deadline(1.0))
    assert other.acquire(REQUESTS[1])
    cds.download(REQUESTS[:1], 1.0)
    with pytest.raises(DownloadFailed, match=TOO_LATE):
        cds.download(REQUESTS, HALF_A_SECOND)
    assert store.posts == REQUESTS[:1]
    other.close()
    cds.download(REQUESTS, 1.0)
    assert store.posts == REQUESTS
    assert other.acquire(REQUESTS[0])
    cds.download(REQUESTS, HALF_A_SECOND)  # all files are here, so no lock is needed
    other.close()
    check_data(weather)


def test_one_run_at_a_time_has_the_lock_of_a_request(store: Store, tmp_path: Path) -> None:
    one, two = RequestLocks(Deadline(1.0)), RequestLocks(Deadline(1.0))
    for _ in range(3):
        assert one.acquire(REQUESTS[0])
        assert one.acquire(REQUESTS[0])
        assert not two.acquire(REQUESTS[0])
        assert two.acquire(REQUESTS[1])
        one.close()
        with two.exclusive(REQUESTS[0]):
            assert not one.acquire(REQUESTS[0])
        two.close()
        assert left_over(tmp_path / "data") == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_disks_without_locks(store: Store, weather: Weather, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    stream().prepare_data()
    assert left_over(tmp_path / "data") == []
    check_data(weather)
