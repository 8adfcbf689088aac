"""Small runs that are saved once, and copied for each test."""

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

from tests.cli.conftest import _clean_environment
from tests.cli.program import run_here, write_config
from tests.cli.test_new_data import DATA, MODEL
from tests.datamodules.era5.written import weather, write_old

__all__ = ["_clean_environment"]
NUM_HOURS = 45  # two tasks of 20 hours, and 5 that wait


@pytest.fixture(scope="session")
def all_weather() -> xr.Dataset:
    """110 hours: five tasks of 20, and 10 more."""
    return weather(110)


@pytest.fixture(scope="session")
def _series(tmp_path_factory: pytest.TempPathFactory, all_weather: xr.Dataset) -> Path:
    folder = tmp_path_factory.mktemp("series")
    write_config(folder, "weather.yaml", model={**MODEL, "consolidation": "replay", "horizon": 120.0}, data=DATA)
    write_old(all_weather.isel(time=slice(0, NUM_HOURS)), folder / "0.nc", packed=False)  # single-precision coordinates
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_here(folder, "fit", "-c", "weather.yaml")
    return folder


@pytest.fixture(scope="session")
def _points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("points")
    write_config(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_here(folder, "fit", "-c", "small.yaml")
    return folder


@pytest.fixture
def series(_series: Path, tmp_path: Path) -> Path:
    """A folder in which two tasks of weather were learnt, with the data: `0.nc`, `weather.yaml` and `runs`."""
    return Path(shutil.copytree(_series, tmp_path / "series"))


@pytest.fixture
def points(_points: Path, tmp_path: Path) -> Path:
    """A folder in which three tasks of a toy series were learnt: `small.yaml` and `runs`."""
    return Path(shutil.copytree(_points, tmp_path / "points"))


@pytest.fixture
def command() -> Callable[..., None]:
    """Runs the program, whose warnings are checked elsewhere."""

    def run(folder: Path, *words: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run_here(folder, *words)

    return run
