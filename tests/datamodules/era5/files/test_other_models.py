"""Files of other models: other names, grids, levels, steps and calendars."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from datamodules.era5 import read_era5
from datamodules.era5.files.calendars import to_standard_calendar
from tests.datamodules.era5.streams import made
from tests.datamodules.era5.written import CELL, weather


def plain() -> xr.Dataset:
    return weather().drop_vars("lsm")


def renamed(**names: str) -> xr.Dataset:
    return plain().rename(names)


def by_standard_names() -> xr.Dataset:
    data = renamed(latitude="phi", longitude="lambda", time="when")
    for old, name in (("phi", "latitude"), ("lambda", "longitude"), ("when", "time")):
        data[old].attrs["standard_name"] = name
    return data


def by_units() -> xr.Dataset:
    data = renamed(latitude="y", longitude="x")
    data["y"].attrs["units"], data["x"].attrs["units"] = "degrees_north", "degrees_east"
    return data


def as_wrf() -> xr.Dataset:
    """Time and grid under other names, coordinates that are repeated at all times, and a date for the start."""
    data = plain().drop_vars([*CELL, "time"]).rename(time="Time", latitude="south_north", longitude="west_east")
    shape = ("Time", "south_north", "west_east")
    north, east = np.meshgrid(weather()["latitude"], weather()["longitude"], indexing="ij")
    return data.assign_coords(
        XTIME=("Time", weather()["time"].values),
        XLAT=(shape, np.broadcast_to(north, (60, 3, 4))),
        XLONG=(shape, np.broadcast_to(east, (60, 3, 4))),
    )


def in_radians() -> xr.Dataset:
    data = plain()
    for name in CELL:
        data = data.assign_coords({name: (name, np.radians(data[name].values), {"units": "radian"})})
    return data


def with_bounds() -> xr.Dataset:
    data = plain()
    return data.assign(time_bnds=(("time", "bnds"), np.zeros((60, 2))), crs=((), 0), name=("latitude", ["a", "b", "c"]))


def axes_beside() -> xr.Dataset:
    data = plain().drop_vars(list(CELL)).rename(latitude="y", longitude="x")
    return data.assign_coords(lat=("y", weather()["latitude"].values), lon=("x", weather()["longitude"].values))


LAYOUTS: dict[str, Callable[[], xr.Dataset]] = {
    "lat and lng": lambda: renamed(latitude="lat", longitude="lng"),
    "capitals": lambda: renamed(latitude="Latitude", longitude="LONGITUDE", time="Time"),
    "datetime": lambda: renamed(time="datetime"),
    "an odd name of the only dates": lambda: renamed(time="clock"),
    "standard names": by_standard_names,
    "x and y in degrees": by_units,
    "dimensions x and y": axes_beside,
    "WRF": as_wrf,
    "radians": in_radians,
    "bounds and projections": with_bounds,
    "other order of dimensions": lambda: plain().transpose("longitude", "time", "latitude"),
    "a start of the forecast": lambda: renamed(time="valid_time").assign_coords(time=np.datetime64("2000-01-01", "ns")),
}


@pytest.mark.parametrize("in_file", [False, True], ids=["dataset", "file"])
@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_layout_has_the_same_values(kind: str, in_file: bool, tmp_path: Path) -> None:
    data = LAYOUTS[kind]()
    if in_file:
        data.to_netcdf(tmp_path / "a.nc")
    read, expected = read_era5(str(tmp_path / "a.nc") if in_file else data), weather()
    assert list(read.data_vars) == ["t2m", "sp", "tp"]
    np.testing.assert_array_equal(read["time"], expected["time"])
    for name in ("t2m", "sp", "tp"):
        assert read[name].shape == (60, 3, 4)
        np.testing.assert_array_equal(read[name].values, expected[name].values)
    north, east = xr.broadcast(expected["latitude"], expected["longitude"])
    np.testing.assert_allclose(*np.broadcast_arrays(read["latitude"].values.reshape(3, -1), north), rtol=1e-12)
    np.testing.assert_allclose(*np.broadcast_arrays(read["longitude"].values.reshape(-1, 4), east), rtol=1e-12)


def curvilinear() -> xr.Dataset:
    """A rotated grid: every cell has its own latitude and longitude."""
    data = plain().drop_vars(list(CELL)).rename(latitude="rlat", longitude="rlon")
    rows, columns = np.meshgrid(np.arange(3.0), np.arange(4.0), indexing="ij")
    where = {"lat": 50 + rows - 0.1 * columns, "lon": (359 + columns + 0.2 * rows) % 360}
    return data.assign_coords({name: (("rlat", "rlon"), values) for name, values in where.items()})


@pytest.mark.parametrize("turned", [False, True])
def test_a_curvilinear_grid(turned: bool, tmp_path: Path) -> None:
    data = curvilinear()
    if turned:
        data = data.assign_coords(lon=(("rlon", "rlat"), data["lon"].values.T))
        assert data["lon"].dims != data["lat"].dims
    data.to_netcdf(tmp_path / "a.nc")
    read = read_era5(str(tmp_path / "a.nc"))
    assert read["t2m"].dims == ("time", "y", "x")
    assert read["latitude"].dims == read["longitude"].dims == ("y", "x")
    np.testing.assert_array_equal(read["t2m"].values, data["t2m"].values)
    options = {"source": "files", "paths": str(tmp_path / "a.nc"), "num_tasks": 1, "hours_per_task": 60}
    stream = made(**options, variables=["t2m"], locations=[[50.75, 1.45], [50.05, -1.0]])
    latitude, longitude, _ = stream.file_coordinates
    np.testing.assert_allclose(latitude, [50.8, 50.0])
    np.testing.assert_allclose(longitude, [1.2, 359.0])  # as in the file
    times, y, _ = stream.task_data(0)
    back = stream.to_physical(y, torch.arange(2))[..., 0]
    truth = data["t2m"].values[times.long(), :, :][:, [1, 0], [2, 0]].T
    np.testing.assert_allclose(back, truth, rtol=1e-6)
    whole = made(**options, points=None)
    assert whole.num_series == 12
    with pytest.raises(ValueError, match=r"is .*° away from the nearest of the grid cells"):
        made(**options, locations=[[60, 0]])


def test_locations_that_move() -> None:
    data = as_wrf()
    moving = data["XLAT"].values + np.arange(60)[:, None, None] / 100
    with pytest.raises(ValueError, match=r"The latitude of the dataset changes with time"):
        read_era5(data.assign_coords(XLAT=(data["XLAT"].dims, moving)))


def test_a_projection_without_coordinates() -> None:
    data = renamed(latitude="y", longitude="x")
    with pytest.raises(ValueError, match=r"no latitude and no longitude .*Add them as coordinates"):
        read_era5(data)


def levels(dimension: str, values: list[float], units: str) -> xr.Dataset:
    """Temperature at levels, and at 2 m."""
    data = plain().rename(t2m="t")
    at_levels = xr.concat([data["t"] + number for number in range(len(values))], xr.Variable(dimension, values))
    at_levels = at_levels.assign_coords({dimension: (dimension, values, {"units": units})})
    return xr.Dataset({"t": at_levels.transpose("time", dimension, ...), "t2m": plain()["t2m"]})


@pytest.mark.parametrize(
    ("dimension", "values", "units", "names"),
    [
        ("pressure_level", [500.0, 850.0], "hPa", ["t@500", "t@850"]),
        ("level", [500, 850], "millibars", ["t@500", "t@850"]),
        ("plev", [50000.0, 92500.0], "Pa", ["t@500", "t@925"]),
        ("height", [10.0, 100.0], "m", ["t@10", "t@100"]),
    ],
)
def test_levels_by_name(dimension: str, values: list[float], units: str, names: list[str], tmp_path: Path) -> None:
    data = levels(dimension, values, units)
    data.to_netcdf(tmp_path / "a.nc")
    read = read_era5(str(tmp_path / "a.nc"), ["t2m", *names])
    for number, name in enumerate(names):
        np.testing.assert_array_equal(read[name], data["t"].isel({dimension: number}))
        assert read[name].attrs["units"] == "K"
    assert list(read_era5(str(tmp_path / "a.nc")).data_vars) == ["t2m"]  # levels by name
    assert list(read_era5(data.drop_vars("t2m")).data_vars) == names  # unless there is nothing else
    with pytest.raises(ValueError, match=rf"have 't' at several levels: name one of {', '.join(names)}"):
        read_era5(data, ["t"])
    with pytest.raises(ValueError, match=r"no variable 't@1'"):
        read_era5(data, ["t@1"])


@pytest.mark.parametrize("scalar", [False, True])
def test_one_level_a_file(scalar: bool, tmp_path: Path) -> None:
    data = levels("pressure_level", [500.0, 850.0], "hPa")[["t"]]
    for number in range(2):
        data.isel(pressure_level=number if scalar else [number]).to_netcdf(tmp_path / f"{number}.nc")
    read = read_era5(str(tmp_path / "*.nc"))
    np.testing.assert_array_equal(read["t@850"], data["t"].sel(pressure_level=850))
    np.testing.assert_array_equal(read["t@500"], data["t"].sel(pressure_level=500))
    assert list(read_era5(str(tmp_path / "0.nc"), ["t"]).data_vars) == ["t@500"]


@pytest.mark.parametrize("where", [{}, {"latitude": 1, "longitude": 2}], ids=["grid", "location"])
def test_one_time(where: dict[str, int], tmp_path: Path) -> None:
    data = levels("pressure_level", [500.0, 850.0], "hPa").isel(time=7, **where)
    data.to_netcdf(tmp_path / "a.nc")
    read = read_era5(str(tmp_path / "a.nc"), ["t2m", "t@850"])
    assert read["time"].values == [data["time"].values]
    np.testing.assert_array_equal(read["t@850"].squeeze(), data["t"].isel(pressure_level=1))
    np.testing.assert_array_equal(read["t2m"].squeeze(), data["t2m"])


def test_geopotential_at_a_level_changes_with_time() -> None:
    data = levels("pressure_level", [500.0, 850.0], "hPa").rename(t="z")
    read = read_era5(data, ["z@500"])
    np.testing.assert_array_equal(read["z@500"], data["z"].isel(pressure_level=0))


@pytest.mark.parametrize("step", [3, 24])
def test_other_steps(step: int) -> None:
    data = plain()
    times = data["time"].values[0] + np.arange(60) * np.timedelta64(step, "h")
    stream = made(source="files", paths=data.assign_coords(time=times), num_tasks=None, hours_per_task=20 * step)
    assert stream.num_tasks == 3
    assert stream.fields.step == step
    together = torch.cat([stream.task_data(1).times, next(iter(stream.test_loader(1, 0, 1))).times]).sort().values
    np.testing.assert_array_equal(together, step * np.arange(20, 40))


@pytest.mark.parametrize("calendar", ["noleap", "360_day", "all_leap", "julian", "proleptic_gregorian"])
def test_calendars(calendar: str, tmp_path: Path) -> None:
    times = xr.date_range("2019-02-20", periods=60, freq="D", calendar=calendar, use_cftime=True)
    data = plain().assign_coords(time=times)
    data.to_netcdf(tmp_path / "a.nc")
    read = read_era5(str(tmp_path / "a.nc"), ["t2m"])
    labels = [time.isoformat() for time in times]
    kept = [number for number, label in enumerate(labels) if label[5:10] not in ("02-29", "02-30")]
    expected = np.array([labels[number] for number in kept], dtype="datetime64[ns]")
    np.testing.assert_array_equal(read["time"], expected)
    np.testing.assert_array_equal(read["t2m"], data["t2m"].values[kept])
    stream = made(source="files", paths=str(tmp_path / "a.nc"), num_tasks=1, hours_per_task=24 * 50, variables=["t2m"])
    assert stream.fields.step == 24


def test_years_that_do_not_fit(tmp_path: Path) -> None:
    times = xr.date_range("0850-01-01", periods=60, freq="D", calendar="noleap", use_cftime=True)
    with pytest.raises(ValueError, match=r"are in the years 850 to 850: years from 1678 to 2261 are supported"):
        read_era5(plain().assign_coords(time=times))
    with pytest.raises(ValueError, match=r"in the years 3000 to 3000"):
        to_standard_calendar(np.array(["3000-01-01"], dtype="datetime64[s]"), "a.nc")


def test_stations_with_names(tmp_path: Path) -> None:
    data = plain().stack(station=CELL).reset_index("station").assign_coords(station=[f"s{i}" for i in range(12)])
    data.to_netcdf(tmp_path / "a.nc")
    read = read_era5(str(tmp_path / "a.nc"))
    np.testing.assert_array_equal(read["t2m"], weather()["t2m"].values.reshape(60, 12))


def test_one_row_of_a_grid() -> None:
    read = read_era5(plain().isel(latitude=1))
    np.testing.assert_array_equal(read["t2m"], weather()["t2m"].values[:, 1])
    np.testing.assert_array_equal(read["latitude"], [51.75] * 4)
