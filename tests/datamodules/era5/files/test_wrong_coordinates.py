"""Longitudes, latitudes and times that cannot be, or are there twice."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from datamodules.era5 import read_era5
from tests.datamodules.era5.written import weather


@pytest.mark.parametrize("degrees", [999.0, -9999.0, np.nan, 1e20])
def test_longitudes_that_are_none(degrees: float, tmp_path: Path) -> None:
    weather().assign_coords(longitude=[-1.0, degrees, -0.5, -0.25]).to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"Latitudes and longitudes of .*a.nc are missing or invalid"):
        read_era5(str(tmp_path / "a.nc"))


@pytest.mark.parametrize(
    ("coordinates", "message"),
    [
        ({"latitude": [52.0, 51.75, 52.0]}, "latitude 52 2 times"),
        ({"longitude": [-1.0, -0.75, -0.75, -0.25]}, "longitude -0.75 2 times"),
    ],
)
def test_rows_and_columns_that_are_there_twice(
    coordinates: dict[str, list[float]], message: str, tmp_path: Path
) -> None:
    weather().assign_coords(coordinates).to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match=f"a.nc has the {message}, so its values are ambiguous"):
        read_era5(str(tmp_path / "a.nc"))


def test_locations_that_are_there_twice(tmp_path: Path) -> None:
    where = {"latitude": ("station", [52.0, 52.0, 51.0, 51.0]), "longitude": ("station", [1.0, 1.0, 1.0, 2.0])}
    stations = weather().isel(latitude=0).drop_vars(["latitude", "longitude"]).rename_dims(longitude="station")
    stations = stations.assign_coords(where)
    stations.to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"a.nc has the location 52, 1 2 times, so its values are ambiguous"):
        read_era5(str(tmp_path / "a.nc"))


def test_times_that_are_there_twice(tmp_path: Path) -> None:
    data = weather()
    xr.concat([data, data.isel(time=[7])], "time").to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"a.nc has the time 2020-01-30T07:00 more than once"):
        read_era5(str(tmp_path / "a.nc"))


@pytest.mark.parametrize("longitudes", [[0.0, 120.0, 240.0, 360.0], [-180.0, -60.0, 60.0, 180.0]])
def test_the_first_meridian_again_is_left_out(longitudes: list[float], tmp_path: Path) -> None:
    data = weather().assign_coords(longitude=longitudes)
    data.to_netcdf(tmp_path / "a.nc")
    data.isel(longitude=slice(0, 3)).to_netcdf(tmp_path / "b.nc")
    xr.testing.assert_identical(read_era5(str(tmp_path / "a.nc")), read_era5(str(tmp_path / "b.nc")))
