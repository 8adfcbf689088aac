"""Real files of the store, in other formats and units: the same values."""

from collections.abc import Callable
from glob import glob
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from datamodules.era5 import read_era5
from tests.datamodules.era5.formats import write_zarr
from tests.datamodules.era5.streams import made
from tests.datamodules.era5.test_dataset import assert_same_stream

NAMES = ["t2m", "tp", "sp"]
CUT = {"source": "files", "num_tasks": 3, "hours_per_task": 100, "points": None, "variables": NAMES}


@pytest.fixture
def real(real_era5: Callable[[str], str]) -> tuple[str, xr.Dataset]:
    """A real file, and what is in it."""
    path = sorted(glob(real_era5("finse_2018")))[0]
    with xr.open_dataset(path, decode_timedelta=False) as data:
        return path, data[NAMES].isel(
            {str(next(d for d in data["t2m"].dims if "time" in str(d))): slice(0, 300)}
        ).load()


def test_zarr_and_dataset_are_the_same_stream(real: tuple[str, xr.Dataset], tmp_path: Path) -> None:
    path, data = real
    expected = made(**CUT, paths=path)
    assert_same_stream(made(**CUT, paths=data), expected)
    assert_same_stream(made(**CUT, paths=write_zarr(data.drop_encoding(), tmp_path / "a.zarr")), expected)


def test_other_units_come_out_as_they_went_in(real: tuple[str, xr.Dataset]) -> None:
    path, data = real
    other = data.assign(
        t2m=(data["t2m"].astype(float) - 273.15).assign_attrs(units="degC"),
        tp=(data["tp"].astype(float) * 1000).assign_attrs(units="mm"),
        sp=(data["sp"].astype(float) / 100).assign_attrs(units="hPa"),
    )
    converted, expected = made(**CUT, paths=other), made(**CUT, paths=path)
    assert converted.units == ["degC", "mm", "hPa"]
    for task in range(3):
        here, there = converted.task_data(task), expected.task_data(task)
        np.testing.assert_allclose(here.y, there.y, atol=2e-4)
    read = read_era5(other)
    assert [read[name].attrs["units"] for name in NAMES] == ["degC", "mm", "hPa"]
