"""A Climate Data Store to download from, and short waits."""

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from datamodules.era5.cds import retry
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.server import KEY, Store, running


@pytest.fixture(scope="session")
def weather() -> Weather:
    return Weather()


@pytest.fixture
def store(weather: Weather, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store that runs, and an account there."""
    with running(weather) as server:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("CDSAPI_URL", server.url)
        monkeypatch.setenv("CDSAPI_KEY", KEY)
        monkeypatch.setenv("CDSAPI_RC", str(tmp_path / "none"))
        monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
        yield server


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, except for answers: a busy machine may be slow."""
    few = {"MAX_TRIES": 2, "MAX_SUBMISSIONS": 2}
    for name, value in {**few, "FIRST_PAUSE": 0.01, "POLL_INTERVAL": 0.01, "MAX_POLL_INTERVAL": 0.05}.items():
        monkeypatch.setattr(retry, name, value)


@pytest.fixture
def _as_in_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what the program changes in its process."""
    speaker = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    monkeypatch.setattr(speaker, "filters", list(speaker.filters))
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    for variable in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS", "GPVAE_TRACEBACK"):
        monkeypatch.setenv(variable, "0")
        monkeypatch.delenv(variable)
