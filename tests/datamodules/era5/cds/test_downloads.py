"""The requests that are sent and the files that are saved when downloads succeed."""

import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from lightning.pytorch.utilities import rank_zero_only

from datamodules.era5 import cds, read_era5
from datamodules.era5.cds import job_records, monthly_requests
from tests.datamodules.era5.cds import faults
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.runs import AREA, REQUESTS, START, check_data, left_over, stream
from tests.datamodules.era5.cds.server import Fault, Store

pytestmark = pytest.mark.usefixtures("hurried")


def saved_records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("era5_cds/*.json"))]


def test_months_are_requested_once_and_then_read(store: Store, tmp_path: Path) -> None:
    for _ in range(2):
        data = stream()
        data.prepare_data()
        data.setup()
        assert data.task_data(2)[1].shape == (4, 16, 2)
    assert [request["month"] for request in store.posts] == [["01"], ["02"]]
    kept = sorted(os.listdir(tmp_path / "data" / "era5_cds"))
    assert [(name[:13], name[25:]) for name in kept] == [
        ("era5_2020-01_", ".nc"),
        ("era5_2020-01_", ".nc.json"),
        ("era5_2020-02_", ".nc"),
        ("era5_2020-02_", ".nc.json"),
    ]
    store.shutdown()  # nobody is asked any more
    assert stream().hparams.keys().isdisjoint({"download_hours", "refetch_preliminary"})
    stream().prepare_data()


def test_requests() -> None:
    first, second = cds.month_requests(["tp", "2m_temperature"], AREA, np.datetime64(START), 60)
    assert first["variable"] == ["2m_temperature", "land_sea_mask", "total_precipitation"]
    assert (first["year"], first["month"], first["day"]) == (["2020"], ["01"], ["30", "31"])
    assert (second["month"], second["day"]) == (["02"], ["01"])
    assert first["area"] == list(AREA)
    assert len(first["time"]) == 24
    whole_degrees = [int(degrees) for degrees in AREA]
    assert cds.month_requests(["t2m", "tp"], whole_degrees, np.datetime64(START), 60) == [first, second]
    assert monthly_requests.file_name(first) != monthly_requests.file_name(second)
    usual = cds.month_requests(None, AREA, np.datetime64("2020-01-01"), 1860)
    assert [len(request["day"]) for request in usual] == [31, 29, 18]
    assert [len(request["variable"]) for request in usual] == [18, 18, 18]
    (late,) = cds.month_requests(None, AREA, np.datetime64("2020-01-01T00:30"), 24)
    assert late["day"] == ["01", "02"]  # from 01:00 to 00:00
    with pytest.raises(ValueError, match=r"area is \[49, 0, 52, 1\]: it must be \[north, west, south, east\]"):
        cds.month_requests(None, [49, 0, 52, 1], np.datetime64(START), 5)


def test_halves_are_the_whole() -> None:
    least, todo = [], list(REQUESTS)
    while todo:
        request = todo.pop(0)
        halves = monthly_requests.halves(request)
        (todo if len(halves) > 1 else least).extend(halves)
    asked = {
        (day, name) for request in least for day in monthly_requests.hours_of(request) for name in request["variable"]
    }
    wanted = {
        (day, name)
        for request in REQUESTS
        for day in monthly_requests.hours_of(request)
        for name in request["variable"]
    }
    assert asked == wanted
    assert len(least) == 3 * 3


def test_the_pieces_of_a_request_that_is_too_large_are_remembered(store: Store, weather: Weather) -> None:
    store.behaviour.most_fields = 30
    stream().prepare_data()
    store.shutdown()
    stream().prepare_data()
    assert len(cds.downloaded(REQUESTS, 1.0)) == 9
    check_data(weather)


def test_broken_transfers_resume_where_they_broke_off(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datamodules.era5.cds.client.CHUNK_SIZE", 1024)
    store.faults = [Fault("file", faults.cut, 1)]
    stream().prepare_data()
    ranges = [headers.get("Range", "") for place, _, headers in store.calls if place == "file"]
    assert ranges[0] == ""
    assert int(ranges[1].removeprefix("bytes=").rstrip("-")) > 0


def test_preliminary_months_are_recorded_and_refetched_on_request(
    store: Store, weather: Weather, tmp_path: Path
) -> None:
    store.behaviour.preliminary = True
    stream().prepare_data()
    assert [record["preliminary_hours"] for record in saved_records(tmp_path / "data")] == [48, 24]
    assert read_era5(cds.downloaded(REQUESTS, 1.0)).attrs["expver"] == "0005"
    store.repair()
    stream().prepare_data()
    assert len(store.posts) == 2
    data = stream(refetch_preliminary=True)
    for _ in range(2):  # as programs do
        data.prepare_data()
    assert len(store.posts) == 4
    assert [record["preliminary_hours"] for record in saved_records(tmp_path / "data")] == [0, 0]
    assert read_era5(cds.downloaded(REQUESTS, 1.0)).attrs["expver"] == "0001"
    stream(refetch_preliminary=True).prepare_data()
    assert len(store.posts) == 4
    check_data(weather)


def test_only_the_first_process_downloads(store: Store, weather: Weather, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"not downloaded yet: call prepare_data\(\) first"):
        stream().setup()
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    stream().prepare_data()
    assert store.calls == []
    found: list[str] = []
    waiting = threading.Thread(target=lambda: found.extend(cds.downloaded(REQUESTS, 1.0)))
    waiting.start()
    time.sleep(0.1)
    assert found == []
    cds.download.__wrapped__(REQUESTS, 1.0)
    waiting.join()
    assert len(found) == 2
    check_data(weather)


def test_a_run_killed_before_the_store_answered_finds_its_job(store: Store, weather: Weather) -> None:
    for request in REQUESTS:  # as it is just before the request is sent
        job_records.JobRecord(request, asked=True).save()
    store.submit(REQUESTS[0])
    stream().prepare_data()
    assert store.posts == REQUESTS
    check_data(weather)


def test_unfinished_files_of_killed_runs_are_removed_when_old(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "era5_cds"
    folder.mkdir(parents=True)
    names = ("1", "1.download", "2")
    *old, new = (folder / f".{monthly_requests.file_name(REQUESTS[0])}.{name}" for name in names)
    for part in (*old, new):
        part.write_bytes(b"CDF")
    for part in old:
        os.utime(part, (0, 0))
    stream().prepare_data()
    assert left_over(tmp_path / "data") == [new.name]


def test_unfinished_files_of_a_process_with_the_same_id_are_not_resumed(
    store: Store, weather: Weather, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "era5_cds"
    folder.mkdir(parents=True)
    for ending in ("", ".download"):
        (folder / f".{monthly_requests.file_name(REQUESTS[0])}.{os.getpid()}{ending}").write_bytes(b"CDF")
    stream().prepare_data()
    assert len(store.posts) == 2
    assert left_over(tmp_path / "data") == []
    check_data(weather)


def test_damaged_records_are_ignored(store: Store, weather: Weather, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "era5_cds"
    folder.mkdir(parents=True)
    for request, text in zip(REQUESTS, ("{", '{"something": 1}'), strict=True):
        (folder / f"{monthly_requests.file_name(request)}.json").write_text(text)
    stream().prepare_data()
    check_data(weather)
