"""Downloads, from a Climate Data Store on this machine."""

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datamodules.era5 import ERA5, cds
from tests.era5.written import weather, write_new

START = np.datetime64("2020-01-30T00")
AREA = (52.0, -1.0, 51.5, -0.25)


class Store(http.server.ThreadingHTTPServer):
    """As much of the Climate Data Store as cdsapi needs."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}  # by month
        self.refusal: tuple[int, dict[str, str]] | None = None


class Handler(http.server.BaseHTTPRequestHandler):
    server: Store

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
        if self.server.refusal is not None:
            self.reply(json.dumps(self.server.refusal[1]).encode(), self.server.refusal[0])
            return
        self.server.requests.append(request)
        monitor = f"{self.server.url}/retrieve/v1/jobs/{request['month'][0]}"
        self.reply(json.dumps({"links": [{"rel": "monitor", "href": monitor}]}).encode())

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        month = path.split("/")[4] if path.startswith("/retrieve/v1/jobs/") else ""
        if path.startswith("/file/"):
            self.reply(self.server.files[path[6:]])
        elif path.endswith("/results"):
            asset = {"href": f"{self.server.url}/file/{month}", "file:size": len(self.server.files[month])}
            self.reply(json.dumps({"asset": {"value": asset}}).encode())
        elif month:
            self.reply(b'{"status": "successful"}')
        else:
            self.reply(b'{"messages": []}')

    def reply(self, content: bytes, status: int = 200) -> None:
        self.send_response(status)
        is_file = self.path.startswith("/file/")
        self.send_header("Content-Type", "application/x-netcdf" if is_file else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with Store() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("CDSAPI_URL", server.url)
        monkeypatch.setenv("CDSAPI_KEY", "made-up")
        monkeypatch.setenv("CDSAPI_RC", str(tmp_path / "none"))
        monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
        data = weather(72)
        for month in ("01", "02"):
            part = data.sel(time=f"2020-{month}")
            server.files[month] = write_new(part, tmp_path / "part.nc").read_bytes()
        yield server
        server.shutdown()
        thread.join()


def stream() -> ERA5:
    return ERA5("cds", variables=["t2m", "tp"], start="2020-01-30", area=AREA, points=4, num_tasks=3, hours_per_task=20)


def test_months_are_requested_once_and_then_read(store: Store, tmp_path: Path) -> None:
    for _ in range(2):
        data = stream()
        data.prepare_data()
        data.setup()
        assert data.task_data(2)[1].shape == (4, 16, 2)
        assert not data.synthetic
    assert [request["month"] for request in store.requests] == [["01"], ["02"]]
    kept = sorted(os.listdir(tmp_path / "data" / "era5_cds"))
    assert [name[:13] for name in kept] == ["era5_2020-01_", "era5_2020-02_"]


def test_requests() -> None:
    first, second = cds.month_requests(["tp", "2m_temperature"], AREA, START, 60)
    assert first["variable"] == ["2m_temperature", "land_sea_mask", "total_precipitation"]
    assert (first["year"], first["month"], first["day"]) == (["2020"], ["01"], ["30", "31"])
    assert (second["month"], second["day"]) == (["02"], ["01"])
    assert first["area"] == list(AREA)
    assert len(first["time"]) == 24
    assert cds.month_requests(["t2m", "tp"], AREA, START, 60) == [first, second]
    assert cds.file_name(first) != cds.file_name(second)
    usual = cds.month_requests(None, AREA, np.datetime64("2020-01-01"), 1860)
    assert [len(request["day"]) for request in usual] == [31, 29, 18]
    assert [len(request["variable"]) for request in usual] == [18, 18, 18]
    with pytest.raises(ValueError, match=r"area is \[49, 0, 52, 1\]: it must be \[north, west, south, east\]"):
        cds.month_requests(None, [49, 0, 52, 1], START, 5)


def test_what_is_no_netcdf_is_not_kept(store: Store, tmp_path: Path) -> None:
    store.files["02"] = b"<html>sorry</html>"
    with pytest.raises(ConnectionError, match=r"2020-02 could not be downloaded: what came is not netCDF"):
        stream().prepare_data()
    (kept,) = os.listdir(tmp_path / "data" / "era5_cds")
    assert kept.startswith("era5_2020-01_")


def test_refusals(store: Store, tmp_path: Path) -> None:
    store.refusal = 403, {"title": "required licences not accepted", "detail": "accept them first"}
    with pytest.raises(ConnectionError, match=r"(?s)403 .*required licences not accepted.*licence of the dataset"):
        stream().prepare_data()
    assert os.listdir(tmp_path / "data" / "era5_cds") == []


def test_keys_of_the_old_kind_and_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDSAPI_KEY", "12345:made-up")
    with pytest.raises(ValueError, match="of the old kind, with a colon"):
        stream().prepare_data()
    monkeypatch.delenv("CDSAPI_KEY")
    with pytest.raises(ConnectionError, match="Downloads are not set up: Missing/incomplete configuration file"):
        stream().prepare_data()
    assert store.requests == []


@pytest.mark.filterwarnings("ignore:HTTPConnectionPool")  # what cdsapi says of it before
def test_nobody_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cds, "PATIENCE", {"timeout": 1, "retry_max": 1, "sleep_max": 0})
    monkeypatch.setenv("CDSAPI_URL", "http://127.0.0.1:1")
    with pytest.raises(ConnectionError, match=r"(?s)2020-01 could not be downloaded: .*Check the network"):
        stream().prepare_data()
