"""Files of any model brought into one layout: those of the old and the new Climate Data Store among them."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.files.coordinates import normalise
from datamodules.era5.files.damage import explained
from datamodules.era5.files.file_part import FilePart, step_of
from datamodules.era5.files.grid import Grid, join_locations
from datamodules.era5.files.levels import split_levels
from datamodules.era5.files.sizes import check_number
from datamodules.era5.variables import LONG_NAMES, is_static

PRELIMINARY = 5  # expver of ERA5T, the most recent two to three months


def file_parts(data: xr.Dataset, name: str, location: Sequence[float] | None = None) -> list[FilePart]:
    """Bring a file into the common layout.

    Old files of the store have `time`, and where final and preliminary data mix, a dimension `expver` that makes two
    parts here. New ones have `valid_time`, with `expver` along it, and a scalar `number`. Latitude comes out
    decreasing, longitude from -180 to 180 and increasing.

    Args:
        data: The file, opened by xarray.
        name: Its name in messages.
        location: Latitude and longitude of a file that states none.

    Raises:
        ValueError: It has no times or locations, or they are not understood.
    """
    with explained(name):
        return _file_parts(data, name, location)


def _file_parts(data: xr.Dataset, name: str, location: Sequence[float] | None) -> list[FilePart]:
    data = _without_members(normalise(data, name, location), name)
    grid, data = Grid.of(data, name)
    versions = [data]
    if "expver" in data.dims:
        check_number(data.sizes["expver"], "versions of its data", name)
        versions = [data.isel(expver=[i]).squeeze("expver") for i in range(data.sizes["expver"])]
    return [_part(version, grid, name) for version in versions]


def join_parts(parts: list[FilePart]) -> list[FilePart] | None:
    """Files of different locations, with the locations of all of them; None if one has a grid of several cells.

    Args:
        parts: The parts of all files.
    """
    lists = []
    for part in parts:
        if part.grid.shape == (1, 1):  # a grid of one cell is a location
            data = part.data.isel(latitude=0).rename_dims(longitude="location")
            where = part.grid.file_coordinates(np.arange(1))
            grid = Grid(("location",), part.grid.latitude, part.grid.longitude, (np.arange(1),), where)
            part = replace(part, data=data, grid=grid)
        if part.grid.dims != ("location",):
            return None
        lists.append(part)
    joined = join_locations([part.grid for part in lists])
    return [replace(part, grid=grid) for part, grid in zip(lists, joined, strict=True)]


def _without_members(data: xr.Dataset, name: str) -> xr.Dataset:
    if data.sizes.get("number", 1) > 1:
        raise ValueError(
            f"{name} holds {data.sizes['number']} ensemble members: request product_type reanalysis, or keep one."
        )
    return data.squeeze("number") if "number" in data.dims else data


def _part(data: xr.Dataset, grid: Grid, name: str) -> FilePart:
    versions, attributes = np.full(data.sizes["time"], 1), {}
    if "number" in data.variables:
        attributes["number"] = str(_whole_numbers(data["number"], name)[0])
    if "expver" in data.variables:
        versions = np.broadcast_to(_whole_numbers(data["expver"], name), versions.shape)
        attributes["expver"] = " ".join(sorted({f"{version:04d}" for version in versions}))
    if (twice := _first_duplicate(data["time"].values, versions)) is not None:
        raise ValueError(f"{name} has the time {twice} more than once, so its values are ambiguous: keep one of them.")
    for key in ("title", "comment"):
        if isinstance(data.attrs.get(key), str):
            attributes[key] = data.attrs[key]
    fields = {}
    for variable, field in data.drop_vars(["number", "expver"], errors="ignore").data_vars.items():
        if len(set(field.dims)) < len(field.dims):
            raise ValueError(f"{variable} in {name} is damaged: it has dimensions {field.dims}. Download it again.")
        if not set(grid.dims) <= set(field.dims) or field.dtype.kind not in "iuf":
            continue  # bounds, projections and the like
        check_number(
            math.prod(field.sizes[dim] for dim in field.dims if dim not in ("time", *grid.dims)),
            f"levels of {variable}",
            name,
        )
        short_name = LONG_NAMES.get(str(variable), str(variable))  # stores such as WeatherBench use long names
        if short_name not in data:
            field = field.rename(short_name)
        for key, one in split_levels(field, data, ("time", *grid.dims)):
            if is_static(key) and "time" in one.dims:
                one = one.isel(time=0, drop=True)
            fields[key] = one.transpose("time", *grid.dims, missing_dims="ignore").reset_coords(drop=True)
    kept = xr.Dataset(fields, {"time": data["time"]})
    return FilePart(name, kept, grid, versions == PRELIMINARY, attributes, step_of(np.unique(data["time"].values)))


def _first_duplicate(times: NDArray[np.datetime64], versions: NDArray[np.int64]) -> str | None:
    """The first time that is there more than once in the same version."""
    order = np.lexsort((times, versions))
    again = (np.diff(times[order]) == np.timedelta64(0)) & (np.diff(versions[order]) == 0)
    return str(np.datetime_as_string(times[order][1:][again].min(), unit="m")) if again.any() else None


def _whole_numbers(field: xr.DataArray, name: str) -> list[int]:
    if field.ndim > 1:
        raise ValueError(f"{field.name} in {name} is damaged: it has dimensions {field.dims}. Download it again.")
    try:
        numbers = [int(value) for value in field.values.flat]
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{field.name} in {name} is damaged: {error}. Download it again.") from error
    if not numbers:
        raise ValueError(f"{field.name} in {name} has no values. Download it again.")
    return numbers
