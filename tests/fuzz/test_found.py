"""Cases that the fuzz tests have found in files."""

import io
import zipfile
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

from datamodules.era5 import read_era5
from tests.datamodules.era5.written import weather, write_new, write_step_types, write_zip


@pytest.mark.parametrize("names", [["t2m"], ["t2m", "lsm"]])
def test_a_file_without_hours(names: list[str], tmp_path: Path) -> None:
    write_new(weather()[names].isel(time=slice(0)), tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"a.nc has no hours: its time has no entries. Leave it out"):
        read_era5(str(tmp_path / "a.nc"))


@pytest.mark.parametrize("degrees", [np.nan, np.inf, 1e9, -91.0])
def test_latitudes_that_are_none(degrees: float, tmp_path: Path) -> None:
    write_new(weather().assign_coords(latitude=[52.0, degrees, 51.5]), tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"Latitudes and longitudes of .*a.nc are missing or invalid"):
        read_era5(str(tmp_path / "a.nc"))


def test_times_that_are_missing(tmp_path: Path) -> None:
    times = weather()["time"].values.copy()
    times[3] = "NaT"
    weather().assign_coords(time=times).to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"Some times of .*a.nc are missing"):
        read_era5(str(tmp_path / "a.nc"))


def test_times_beyond_the_calendar(tmp_path: Path) -> None:
    hours = xr.Variable("time", np.full(60, 2**62), {"units": "hours since 1900-01-01"})
    weather().drop_vars("time").assign_coords(time=hours).to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"a.nc is damaged and cannot be opened: .*Download it again"):
        read_era5(str(tmp_path / "a.nc"))


@pytest.mark.parametrize("value", [3e38, 1.5e36, -np.inf])  # one bit of the exponent
def test_values_beyond_measure(value: float, tmp_path: Path) -> None:
    data = weather()
    data["t2m"][50, 1, 2] = value
    write_new(data, tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"t2m in .*a.nc is damaged or incomplete: .*large as"):
        read_era5(str(tmp_path / "a.nc"))


def test_the_fill_value_of_netcdf_counts_as_missing(tmp_path: Path) -> None:
    data = weather()
    data["t2m"][50, 1, 2] = 9.96921e36
    write_new(data, tmp_path / "a.nc")
    found = read_era5(str(tmp_path / "a.nc"))["t2m"]
    assert np.isnan(found[50, 1, 2])
    assert int(found.isnull().sum()) == 1


@pytest.mark.parametrize("version", ["zero", ""])
def test_versions_that_are_no_numbers(version: str, tmp_path: Path) -> None:
    write_new(weather(), tmp_path / "a.nc", expver=version)
    with pytest.raises(ValueError, match=r"expver in .*a.nc is damaged"):
        read_era5(str(tmp_path / "a.nc"))


def test_an_archive_whose_members_are_before_its_beginning(tmp_path: Path) -> None:
    path = write_zip(write_step_types(weather(), tmp_path), tmp_path / "a.nc")
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        directory = archive.start_dir
    end = content.rindex(b"PK\x05\x06")
    content[end + 16 : end + 20] = (directory + 50_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a.nc is a zip archive that cannot be read: .*Download it again"):
        read_era5(str(path))


@pytest.mark.filterwarnings("ignore:Duplicate dimension names")
def test_a_variable_over_the_same_dimension_twice(tmp_path: Path) -> None:
    write_new(weather(), tmp_path / "a.nc")
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as data:
        data.createVariable("blh", "f4", ("longitude", "latitude", "longitude"))
    with pytest.raises(ValueError, match=r"blh in .*a.nc is damaged: it has dimensions .*Download it again"):
        read_era5(str(tmp_path / "a.nc"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,latitude,longitude,t2m\n", "a.csv has no rows below its header"),
        ("time,name\n2020-01-01,a\n2020-01-02,b\n", "a.csv has no column of numbers beside times and locations"),
    ],
)
def test_tables_without_values(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_era5(str(tmp_path / "a.csv"))
