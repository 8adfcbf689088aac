"""Clear errors where nothing can be downloaded, and none that shows the key."""

import errno
import logging
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
import xarray as xr

from datamodules.era5.cds.account import Account, find_account
from datamodules.era5.cds.errors import DownloadFailed
from datamodules.era5.cds.explain import MAX_LENGTH, translate_errors
from tests.datamodules.era5.cds import faults
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.runs import check_data, check_no_key, check_no_key_in_files, left_over, stream, texts_of
from tests.datamodules.era5.cds.server import KEY, Fault, Store

pytestmark = pytest.mark.usefixtures("hurried")


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (
            {"CDSAPI_KEY": ""},
            "There is no key for the Climate Data Store: .*CDSAPI_KEY are not set, and .*none lacks a line",
        ),
        ({"CDSAPI_KEY": f"12345:{KEY}"}, "of the old kind, with a colon"),
        ({"CDSAPI_URL": "https://cds.climate.copernicus.eu/api/v2"}, "of the old kind"),
        (
            {"CDSAPI_URL": "cds.climate.copernicus.eu/api"},
            "address .* is 'cds.*': it should be https://cds.climate.*/api",
        ),
        ({"CDSAPI_KEY": f"{KEY}\u200b"}, "has characters that no key has"),
        ({"CDSAPI_KEY": f"{KEY} {KEY}"}, "has characters that no key has"),
        ({"CDSAPI_KEY": f"not-{KEY}"}, r"does not know the key \(401 Authentication failed: \*\*\*\?\): copy it again"),
    ],
    ids=["none", "old", "old address", "no address", "odd", "twice", "wrong"],
)
def test_keys(variables: dict[str, str], says: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
        if not value:
            monkeypatch.delenv(name)
    with pytest.raises(DownloadFailed, match=says) as error:
        stream().prepare_data()
    check_no_key(texts_of(error.value))
    assert store.posts == []


def test_keys_in_files(store: Store, weather: Weather, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "none").write_text(f"url: {store.url}/\nkey: {KEY}\n")
    for name in ("CDSAPI_URL", "CDSAPI_KEY"):
        monkeypatch.delenv(name)
    stream().prepare_data()
    check_data(weather)
    assert KEY not in repr(find_account())


def test_no_server(store: Store, weather: Weather, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDSAPI_URL", "http://127.0.0.1:1")
    with pytest.raises(DownloadFailed, match=r"at 127.0.0.1 cannot be reached.*refused\): check the network") as error:
        stream().prepare_data()
    check_no_key(texts_of(error.value))
    monkeypatch.setenv("CDSAPI_URL", store.url)
    stream().prepare_data()
    check_data(weather)


def test_a_disk_that_is_too_small(
    store: Store, weather: Weather, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100))
        with pytest.raises(OSError, match=r"The disk is full: 0 MiB are to be downloaded to .*data.*Make room"):
            stream().prepare_data()
    assert left_over(tmp_path / "data") == []
    stream().prepare_data()
    assert len(store.posts) == 2
    check_data(weather)


def test_a_disk_that_fills_up(store: Store, weather: Weather, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("multiurl.http.HTTPDownloaderBase.transfer", full)
        with pytest.raises(OSError, match=r"^The disk is full: make room, or set GPVAE_DATA_DIR"):
            stream().prepare_data()
    assert left_over(tmp_path / "data") == []
    stream().prepare_data()
    check_data(weather)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda data: data.isel(valid_time=slice(0, -30)),
            "no t2m for 30 hours from .* to 2020-01-31T23:00: ERA5 ends",
        ),
        (lambda data: data.drop_vars("t2m", errors="ignore"), "lacks variables: requested 2m_temperature, found only"),
    ],
    ids=["hours", "variables"],
)
def test_files_that_lack_something(
    change: Any,  # noqa: ANN401
    says: str,
    store: Store,
    weather: Weather,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Less(Weather):
        def __init__(self) -> None:
            self._answers = {}

        def fields(self, request: dict[str, Any]) -> dict[str, xr.Dataset]:
            return {name: change(data) for name, data in weather.fields(request).items()}

    store.weather = Less()
    with pytest.raises(
        DownloadFailed, match=f"ERA5 of 2020-01-30 to 31 .* could not be downloaded. The downloaded file .*{says}"
    ):
        stream().prepare_data()
    assert left_over(tmp_path / "data") == []
    assert not list((tmp_path / "data").rglob("*.nc"))
    assert len(store.posts) == 2  # asking again would give no more
    store.weather = weather
    stream().prepare_data()
    check_data(weather)


def test_folders_that_cannot_be_written_to(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GPVAE_DATA_DIR", "XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    (tmp_path / "file").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"No folder to keep era5_cds in"):
        stream().prepare_data()
    assert store.posts == []


def test_messages_of_the_store_are_shown_without_the_key(store: Store) -> None:
    def announce(handler: Any) -> bool:  # noqa: ANN401
        messages = [{"content": f"Closed on Monday, {KEY}.", "severity": "warning"}, {"content": "Hello"}]
        handler.reply({"messages": messages})
        return True

    store.faults = [Fault("process", announce, 1)]
    with pytest.warns(UserWarning, match=r"The Climate Data Store says: Closed on Monday, \*\*\*\."):
        stream().prepare_data()


def test_options() -> None:
    with pytest.raises(ValueError, match="download_hours is 0: it must be more than 0"):
        stream(download_hours=0)


def test_no_log_message_shows_the_key(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    store.faults = [Fault("status", faults.refuse(500, "no"))]
    with pytest.raises(DownloadFailed) as error:
        stream().prepare_data()
    check_no_key(
        texts_of(error.value), "".join(traceback.format_exception(error.value)), caplog.text, *capfd.readouterr()
    )
    assert error.value.__cause__ is error.value.__context__ is None
    check_no_key_in_files(tmp_path)


def answered(status: int, reason: str) -> requests.HTTPError:
    response = requests.Response()
    response.status_code, response.url, response.reason = status, "http://127.0.0.1/", reason
    return requests.HTTPError("refused", response=response)


@pytest.mark.parametrize(
    "failing",
    [
        lambda text: answered(400, text),
        lambda text: answered(500, text),
        requests.ConnectionError,
        requests.Timeout,
        ValueError,
    ],
    ids=["400", "500", "unreachable", "timeout", "strange"],
)
def test_truncated_messages_show_no_part_of_the_key(failing: Callable[[str], Exception]) -> None:
    for before in range(MAX_LENGTH - 2 * len(KEY), MAX_LENGTH + 1):
        error = failing(f"{'x' * before} PRIVATE-TOKEN:{KEY} and so on and on")

        def fail(error: Exception = error) -> None:
            raise error

        with pytest.raises(DownloadFailed) as caught:
            translate_errors(fail, Account("http://127.0.0.1", KEY, True))
        assert KEY[:3] not in texts_of(caught.value)


def test_truncated_answers_show_no_part_of_the_key(store: Store) -> None:
    store.faults = [Fault("post", faults.refuse(400, "invalid request", "x" * (MAX_LENGTH - 30)))]
    with pytest.raises(DownloadFailed, match=r"does not accept the request .400 invalid request: x+") as error:
        stream().prepare_data()
    assert KEY[:3] not in texts_of(error.value)
