"""However it was written, the same dataset comes out."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from datamodules.era5 import Archive, read_era5
from datamodules.era5.variables import KNOWN
from tests.datamodules.era5.written import CELL, weather, write_new, write_old, write_step_types, write_zip


def mixed_old(data: xr.Dataset, path: Path) -> Path:
    """Final and preliminary data in one file of the old kind: a dimension for both, each with its own gaps."""
    final = data.where(data["time"] < data["time"][40])
    preliminary = data.where(data["time"] >= data["time"][40])
    both = xr.concat([final, preliminary], xr.Variable("expver", [1, 5]))
    return write_old(both.transpose("time", "expver", *CELL), path)


def mixed_new(data: xr.Dataset, path: Path) -> Path:
    return write_new(data, path, np.array(["0001"] * 40 + ["0005"] * 20))


def by_month(data: xr.Dataset, folder: Path) -> None:
    for month, part in data.groupby("time.month"):
        write_new(part, folder / f"{month}.nc")


def overlapping(data: xr.Dataset, folder: Path) -> None:
    write_new(data.isel(time=slice(25, None)), folder / "a.nc")
    write_old(data.isel(time=slice(0, 30)), folder / "b.nc", packed=False)


def shuffled(data: xr.Dataset, folder: Path) -> None:
    order = np.random.default_rng(1).permutation(data.sizes["time"])
    write_new(data.isel(time=order), folder / "a.nc")


WRITERS: dict[str, Callable[[xr.Dataset, Path], object]] = {
    "new, one file": lambda data, folder: write_new(data, folder / "a.nc"),
    "new, a file for each step type": write_step_types,
    "new, final and preliminary": lambda data, folder: mixed_new(data, folder / "a.nc"),
    "old, floats": lambda data, folder: write_old(data, folder / "a.nc", packed=False),
    "old, packed": lambda data, folder: write_old(data, folder / "a.nc"),
    "old, final and preliminary": lambda data, folder: mixed_old(data, folder / "a.nc"),
    "old, by another name": lambda data, folder: write_old(data.rename(latitude="lat", longitude="lon").rename(
        lat="latitude", lon="longitude"), folder / "a.nc"),
    "zipped": lambda data, folder: write_zip(write_step_types(data, folder), folder / "a.nc"),
    "by month": by_month,
    "overlapping": overlapping,
    "out of order": shuffled,
    "from south to north": lambda data, folder: write_new(data.isel(latitude=slice(None, None, -1)), folder / "a.nc"),
    "longitude from 0 to 360": lambda data, folder: write_new(
        data.assign_coords(longitude=data["longitude"] % 360), folder / "a.nc"
    ),
    "long names": lambda data, folder: write_new(
        data.rename({name: KNOWN[name].name for name in ("t2m", "sp", "tp", "lsm")}), folder / "a.nc"
    ),
    "lat and lon": lambda data, folder: write_new(data.rename(latitude="lat", longitude="lon"), folder / "a.nc"),
    "other order of dimensions": lambda data, folder: write_new(data.transpose(*CELL, "time"), folder / "a.nc"),
    "one ensemble member": lambda data, folder: data.expand_dims(number=[0], axis=1).to_netcdf(folder / "a.nc"),
}  # fmt: skip


@pytest.mark.parametrize("how", WRITERS)
def test_every_layout_gives_the_same_dataset(how: str, tmp_path: Path) -> None:
    data = weather()
    WRITERS[how](data, tmp_path)
    read = read_era5(str(tmp_path / "*.nc"))
    assert list(read.data_vars) == ["t2m", "sp", "tp"]  # the land-sea mask does not change with time
    assert set(read.coords) == {"time", "latitude", "longitude"}
    assert read["time"].dtype == "datetime64[ns]"
    for name, field in read.data_vars.items():
        assert field.dims == ("time", *CELL)
        assert field.dtype == np.float32
        span = float(data[name].max() - data[name].min())
        tolerance = span / 65_000 if "old" in how else 0.0
        xr.testing.assert_allclose(field, data[name], rtol=1e-6, atol=tolerance)
    assert read["t2m"].attrs == {"long_name": "2m_temperature", "units": "K"}
    expected = {"old": None, "mixed": "0001 0005"}.get("mixed" if "preliminary" in how else how[:3], "0001")
    if how not in ("overlapping", "one ensemble member"):
        assert read.attrs.get("expver") == expected
    with Archive(str(tmp_path / "*.nc")) as archive:
        mask = archive.read_static("lsm")
    assert mask is not None
    np.testing.assert_allclose(mask, data["lsm"][0].values.reshape(-1), atol=1e-4)


def test_final_values_go_before_preliminary_ones_and_gaps_are_filled(tmp_path: Path) -> None:
    data = weather()
    wrong = data.copy(deep=True)
    wrong["t2m"] += 50
    write_new(wrong, tmp_path / "a.nc", "0005")
    final = data.isel(time=slice(0, 30)).copy(deep=True)
    final["t2m"][5] = np.nan
    write_new(final, tmp_path / "b.nc", "0001")
    read = read_era5(str(tmp_path / "*.nc"), ["t2m"])["t2m"].values
    expected = np.concatenate([data["t2m"][:30], wrong["t2m"][30:]])
    expected[5] = wrong["t2m"][5]
    np.testing.assert_array_equal(read, expected)


def test_missing_hours_stay_missing_and_missing_values_are_nan(tmp_path: Path) -> None:
    data = weather()
    here = np.delete(np.arange(60), [3, 4, 50])
    write_new(data[["t2m"]].isel(time=here), tmp_path / "a.nc")
    write_new(data[["tp"]].isel(time=here[here != 20]), tmp_path / "b.nc")
    read = read_era5(str(tmp_path / "*.nc"))
    np.testing.assert_array_equal(read["time"], data["time"][here])
    assert not read["t2m"].isnull().any()
    assert read["tp"].isnull().all(CELL).values.nonzero()[0].tolist() == [here.tolist().index(20)]


def turned(data: xr.Dataset) -> xr.Dataset:
    """From south to north, and with Greenwich in the middle of the row."""
    data = data.assign_coords(longitude=(data["longitude"] + 0.5) % 360)
    return data.isel(latitude=slice(None, None, -1)).sortby("longitude")


@pytest.mark.parametrize("at_once", [1, 30, 10**6])
def test_only_what_is_asked_for_is_read(at_once: int, tmp_path: Path) -> None:
    data = weather()
    write_step_types(turned(data), tmp_path)
    cells = np.array([11, 0, 6])
    times = data["time"].values
    with Archive(str(tmp_path / "*.nc"), max_values=at_once) as archive:
        read = archive.read(["total_precipitation", "t2m"], times[10], times[13], cells)
    assert list(read.data_vars) == ["tp", "t2m"]
    assert read["tp"].dims == ("time", "series")
    np.testing.assert_array_equal(read["tp"], data["tp"].values[10:13].reshape(3, -1)[:, cells])
    np.testing.assert_array_equal(read["latitude"], [51.5, 52.0, 51.75])
    np.testing.assert_array_equal(read["longitude"], [0.25, -0.5, 0.0])


@pytest.mark.parametrize("dimension", ["location", "station"])
def test_scattered_locations(tmp_path: Path, dimension: str) -> None:
    data = weather()
    rows, columns = xr.DataArray([0, 2, 1], dims=dimension), xr.DataArray([3, 0, 1], dims=dimension)
    write_new(data.isel(latitude=rows, longitude=columns), tmp_path / "a.nc")
    read = read_era5(str(tmp_path / "a.nc"))
    assert read["t2m"].dims == ("time", "location")
    np.testing.assert_array_equal(read["t2m"], data["t2m"].values[:, [0, 2, 1], [3, 0, 1]])
    np.testing.assert_array_equal(read["latitude"], [52.0, 51.5, 51.75])


@pytest.mark.parametrize("as_grids", [False, True], ids=["locations", "grids of one cell"])
def test_files_of_different_locations_are_joined(tmp_path: Path, as_grids: bool) -> None:
    data = weather()
    for name, row, column in (("a", 0, 3), ("b", 2, 0)):
        index = {"latitude": [row], "longitude": [column]} if as_grids else {"latitude": row, "longitude": column}
        one = data.isel(index)
        write_new(one.isel(time=slice(0, 50) if name == "a" else slice(5, 60)), tmp_path / f"{name}.nc")
        write_new(one[["t2m"]].isel(time=slice(50, 55)), tmp_path / f"{name}_later.nc")
    read = read_era5(str(tmp_path / "*.nc"))
    assert read["t2m"].dims == ("time", "location")
    np.testing.assert_array_equal(read["time"], data["time"])
    expected = data["t2m"].values[:, [0, 2], [3, 0]]
    expected[55:, 0] = expected[:5, 1] = np.nan
    np.testing.assert_array_equal(read["t2m"], expected)
    np.testing.assert_array_equal(read["tp"][5:50], data["tp"].values[5:50, [0, 2], [3, 0]])
    np.testing.assert_array_equal(read["latitude"], [52.0, 51.5])
    np.testing.assert_array_equal(read["longitude"], [-0.25, -1.0])
    with Archive(str(tmp_path / "*.nc")) as archive:
        np.testing.assert_array_equal(archive.read_static("lsm"), data["lsm"].values[0, [0, 2], [3, 0]])
        one = archive.read(["t2m"], cells=np.array([1]))
    np.testing.assert_array_equal(one["t2m"][:, 0], expected[:, 1])


def test_lists_of_locations_may_overlap(tmp_path: Path) -> None:
    data = weather()
    for name, rows, columns in (("a", [0, 1], [0, 1]), ("b", [2, 1], [3, 1])):
        places = xr.DataArray(rows, dims="station"), xr.DataArray(columns, dims="station")
        some = data.isel(latitude=places[0], longitude=places[1])
        write_new(some if name == "a" else some.drop_vars("lsm"), tmp_path / f"{name}.nc")
    read = read_era5(str(tmp_path / "*.nc"))
    np.testing.assert_array_equal(read["t2m"], data["t2m"].values[:, [0, 1, 2], [0, 1, 3]])
    with Archive(str(tmp_path / "*.nc")) as archive:
        assert archive.read_static("lsm") is None  # not known of the third
        assert archive.grid.file_coordinates(np.array([2, 0]))[1].tolist() == [-0.25, -1.0]


def test_one_location_and_one_hour(tmp_path: Path) -> None:
    data = weather()
    write_old(data.isel(latitude=1, longitude=2), tmp_path / "a.nc", packed=False)
    assert read_era5(str(tmp_path / "a.nc"))["t2m"].shape == (60, 1)
    data.isel(time=7).to_netcdf(tmp_path / "b.nc")
    read = read_era5(str(tmp_path / "b.nc"))
    assert read["t2m"].shape == (1, 3, 4)
    assert read["time"].values == data["time"].values[7]


def test_a_mask_of_another_time_does_not_matter(tmp_path: Path) -> None:
    data = weather()
    write_new(data[["t2m"]], tmp_path / "a.nc")
    write_new(weather(1, "1999-01-01T00")[["lsm"]], tmp_path / "b.nc")
    with Archive(str(tmp_path / "*.nc")) as archive:
        np.testing.assert_array_equal(archive.times_of(), data["time"])
        np.testing.assert_array_equal(archive.read()["t2m"], data["t2m"])
        assert archive.read_static("lsm") is not None
        assert archive.read_static("z") is None
