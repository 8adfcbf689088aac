"""Small files that ask for more memory than there is are refused before they are read."""

import gzip
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

from datamodules.era5 import ERA5, read_era5
from gpvae.utils import memory
from tests.datamodules.era5.written import weather

AXES = ("time", "latitude", "longitude")


@pytest.fixture(autouse=True)
def two_gigabytes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two of them are free, and a test takes much less."""
    monkeypatch.setattr(memory, "free_memory", lambda: 2e9)
    tracemalloc.start()
    yield
    assert tracemalloc.get_traced_memory()[1] < 2e8
    tracemalloc.stop()


def sparse(path: Path, sizes: dict[str, int], chunks: tuple[int, ...] | None = None) -> Path:
    """A file of some kilobytes with dimensions of any size; nothing but what is small is written."""
    with netCDF4.Dataset(path, "w") as data:
        for name in AXES:
            size = sizes.get(name, 2)
            data.createDimension(name, size)
            axis = data.createVariable(name, "f8", (name,), zlib=True)
            if size <= 100_000:
                axis[:] = np.arange(size) % 2 + (np.arange(size) / size if size > 2 else 0)
        data["time"].units = "hours since 2000-01-01"
        data.createVariable("t2m", "f4", AXES, zlib=True, chunksizes=chunks)
    assert path.stat().st_size < 2e6
    return path


@pytest.mark.parametrize("axis", AXES)
def test_a_sparse_dimension(axis: str, tmp_path: Path) -> None:
    path = sparse(tmp_path / "a.nc", {axis: 2_000_000_000})
    with pytest.raises(
        ValueError, match=r"The coordinates of .*a.nc, of 2,000,000,00\d entries, take about 96 GB of mem"
    ):
        read_era5(str(path))


def test_a_grid_of_many_cells(tmp_path: Path) -> None:
    path = sparse(tmp_path / "a.nc", {"latitude": 30_000, "longitude": 30_000})
    with pytest.raises(
        ValueError, match=r"The 900,000,000 grid cells of .*a.nc take about 86.4 GB of memory, and 2 GB"
    ):
        read_era5(str(path))


def test_a_chunk_that_is_unpacked_as_a_whole(tmp_path: Path) -> None:
    path = sparse(tmp_path / "a.nc", {"time": 80_000, "latitude": 100, "longitude": 100}, chunks=(80_000, 100, 100))
    with pytest.raises(ValueError, match=r"The chunks of .*a.nc, of 800,000,000 values, .*write it in smaller chunks"):
        read_era5(str(path))


def test_twenty_thousand_variables(tmp_path: Path) -> None:
    weather().to_netcdf(tmp_path / "a.nc")
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as data:
        for number in range(3_000):
            data.createVariable(f"v{number}", "f4", ())
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"a.nc has 3,007 variables, more than the 1,000 that are read. Keep the var"):
        read_era5(str(tmp_path / "a.nc"))
    assert time.process_time() - begin < 3  # xarray alone takes 18 s


def test_many_levels(tmp_path: Path) -> None:
    field = xr.DataArray(np.zeros((2, 2, 2, 5_000), np.float32), dims=(*AXES, "level"))
    axes = {"time": weather()["time"].values[:2], "latitude": [1.0, 2.0], "longitude": [1.0, 2.0]}
    xr.Dataset({"t": field}, {**axes, "level": np.arange(5_000.0)}).to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"a.nc has 5,000 levels of t, more than"):
        read_era5(str(tmp_path / "a.nc"))


def test_more_than_fits(tmp_path: Path) -> None:
    """A whole grid over years, of which nothing was written."""
    path = sparse(tmp_path / "a.nc", {"time": 20_000, "latitude": 200, "longitude": 200}, chunks=(1, 200, 200))
    with netCDF4.Dataset(path, "a") as data:
        data["time"][:] = np.arange(20_000)
        for name in ("latitude", "longitude"):
            data[name][:] = np.arange(200) / 4
    expected = r"1 variable at 40,000 locations and 20,000 times take about .* GB of memory, and 2 GB are free: choose"
    with pytest.raises(ValueError, match=f"{expected} fewer `points` or `variables`, or set on_disk to true"):
        ERA5("files", str(path), points=None, hours_per_task=100).setup()
    with pytest.raises(ValueError, match=f"{expected} fewer variables, times or cells"):
        read_era5(str(path))


def test_a_table_that_is_a_bomb(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("time,t2m\n")
        for _ in range(60):
            file.write("2020-01-01,280\n" * 200_000)
    assert (tmp_path / "a.csv.gz").stat().st_size < 2e6
    with pytest.raises(
        ValueError, match=r"The rows of .*a.csv.gz \(.* MB compressed\) take about .*write it as netCDF"
    ):
        read_era5(str(tmp_path / "a.csv.gz"))


def test_a_sparse_zarr_store(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    for name in AXES:
        size = 2_000_000_000 if name == "time" else 2
        group.create_array(name, shape=(size,), dtype="i4", dimension_names=(name,))
    group.create_array("t2m", shape=(2_000_000_000, 2, 2), dtype="f4", dimension_names=AXES)
    with pytest.raises(ValueError, match=r"The coordinates of .*a.zarr, of 2,000,000,004 entries"):
        read_era5(str(tmp_path / "a.zarr"))


def test_a_constant_grib_field_without_end(tmp_path: Path) -> None:
    eccodes = pytest.importorskip("eccodes")
    message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
    eccodes.codes_set_values(message, np.full(496, 280.0))
    for key, value in {"bitsPerValue": 0, "Ni": 30_000, "Nj": 30_000, "numberOfDataPoints": 900_000_000}.items():
        eccodes.codes_set(message, key, value)
    with (tmp_path / "a.grib").open("wb") as file:
        eccodes.codes_write(message, file)
    eccodes.codes_release(message)
    assert (tmp_path / "a.grib").stat().st_size < 1e4
    with pytest.raises(ValueError, match=r"The 900,000,000 grid cells of .*a.grib take about"):
        read_era5(str(tmp_path / "a.grib"))
