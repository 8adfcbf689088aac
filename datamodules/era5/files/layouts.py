"""netCDF files of the old and the new Climate Data Store: opened, brought into one layout, and read on demand."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.files.grid import Grid, join_locations
from datamodules.era5.units import UnitError
from datamodules.era5.variables import KNOWN, Variable, is_static

PRELIMINARY = 5  # expver of ERA5T, the most recent two to three months
RENAMED = {"valid_time": "time", "lat": "latitude", "lon": "longitude"}


@dataclass(frozen=True)
class FilePart:
    """A file, or one version of the data within a file.

    Args:
        name: Its name in messages.
        data: Variables over `time` and the dimensions of the grid; static ones over those of the grid alone.
        grid: The grid.
        preliminary: Which times are preliminary (ERA5T), later to be replaced by final ones `[T]`.
        attributes: `expver`, `number`, `title` and `comment` of the file, where it has them.
        step: The hours from one time of the file to the next; None if it has one time.
    """

    name: str
    data: xr.Dataset
    grid: Grid
    preliminary: NDArray[np.bool_]
    attributes: dict[str, str]
    step: float | None = None

    def units(self, name: str) -> str:
        """The units of a variable as the file states them; empty if it states none.

        Args:
            name: Its name.
        """
        return str(self.data[name].attrs.get("units", "")).strip()

    @property
    def times(self) -> NDArray[np.datetime64]:
        """The times of the values `[T]`, in any order."""
        return self.data["time"].values


def file_parts(data: xr.Dataset, name: str) -> list[FilePart]:
    """Bring a file of the old or the new Climate Data Store into the common layout.

    Old files have `time`, and where final and preliminary data mix, a dimension `expver` that makes two parts here.
    New ones have `valid_time`, with `expver` along it, and a scalar `number`. Latitude comes out decreasing,
    longitude from -180 to 180 and increasing.

    Args:
        data: The file, opened by xarray.
        name: Its name in messages.

    Raises:
        ValueError: It does not have a layout of ERA5.
    """
    old_names = {old: new for old, new in RENAMED.items() if old in data.variables and new not in data.variables}
    data = _without_members(_with_time(data.rename(old_names), name), name)
    grid, data = Grid.of(data, name)
    degrees = ((grid.latitude, 90), (grid.longitude, 180))
    if not all(axis.size and (np.abs(axis) <= limit).all() for axis, limit in degrees):
        raise ValueError(f"Latitudes and longitudes of {name} are missing or invalid. Download it again.")
    versions = [data]
    if "expver" in data.dims:
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


def _with_time(data: xr.Dataset, name: str) -> xr.Dataset:
    if "time" not in data.variables:
        found = ", ".join(map(str, data.variables)) or "none"
        raise ValueError(f"{name} has no time: neither `time` nor `valid_time` is among its variables ({found}).")
    if not np.issubdtype(data["time"].dtype, np.datetime64):
        raise ValueError(f"The time of {name} is {data['time'].dtype}, not dates: its units or calendar are missing.")
    if data["time"].ndim == 0:
        data = data.set_coords("time").expand_dims("time")
    if data["time"].dims != ("time",):
        raise ValueError(f"The time of {name} has dimensions {data['time'].dims}: expected `time` alone.")
    if not data.sizes["time"]:
        raise ValueError(f"{name} has no hours: its time has no entries. Leave it out, or download it again.")
    if np.isnat(data["time"].values).any():
        raise ValueError(f"Some times of {name} are missing. Download it again.")
    return data.assign_coords(time=data["time"].values.astype("datetime64[ns]"))


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
    for key in ("title", "comment"):
        if isinstance(data.attrs.get(key), str):
            attributes[key] = data.attrs[key]
    fields = {}
    for variable, field in data.drop_vars(["number", "expver"], errors="ignore").data_vars.items():
        if len(set(field.dims)) < len(field.dims):
            raise ValueError(f"{variable} in {name} is damaged: it has dimensions {field.dims}. Download it again.")
        extra = [dim for dim in field.dims if dim not in ("time", *grid.dims)]
        if not set(grid.dims) <= set(field.dims) or not np.issubdtype(field.dtype, np.number):
            continue  # bounds, projections and the like
        if any(field.sizes[dim] > 1 for dim in extra):
            continue  # pressure levels and the like: the user must select one
        field = field.squeeze(extra, drop=True)
        if is_static(str(variable)) and "time" in field.dims:
            field = field.isel(time=0, drop=True)
        fields[str(variable)] = field.transpose("time", *grid.dims, missing_dims="ignore")
    kept = xr.Dataset(fields, {"time": data["time"]})
    return FilePart(name, kept, grid, versions == PRELIMINARY, attributes, step_of(np.unique(data["time"].values)))


def _whole_numbers(field: xr.DataArray, name: str) -> list[int]:
    try:
        numbers = [int(value) for value in field.values.flat]
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{field.name} in {name} is damaged: {error}. Download it again.") from error
    if not numbers:
        raise ValueError(f"{field.name} in {name} has no values. Download it again.")
    return numbers


MAX_MAGNITUDE = 1e30  # in any units; a larger value was never written, or is damaged


def open_lazily(path: Path, name: str, stack: ExitStack) -> xr.Dataset:
    """Open a netCDF file and read its coordinates, but no values.

    Args:
        path: The file.
        name: Its name in messages.
        stack: Closes the file.

    Raises:
        ValueError: It cannot be opened.
    """
    try:
        data = stack.enter_context(xr.open_dataset(path, engine="netcdf4", cache=False, decode_timedelta=False))
        for variable in data.variables.values():
            if variable.ndim <= 1:
                variable.load()
    except Exception as error:  # anything that the libraries raise for a damaged file
        raise ValueError(f"{name} is damaged and cannot be opened: {error}. Download it again.") from error
    return data


def load(part: FilePart, field: xr.DataArray) -> NDArray[np.float32]:
    """Read values, in single precision.

    Args:
        part: The file they are from.
        field: The variable, or part of it.

    Raises:
        ValueError: They cannot be read, or are impossibly large.
    """
    try:
        values = field.values.astype(np.float32)
    except Exception as error:  # anything that the libraries raise for a damaged file
        raise ValueError(f"{field.name} in {part.name} is damaged: {error}. Download the file again.") from error
    largest = max(np.fmax.reduce(values, axis=None, initial=0), -np.fmin.reduce(values, axis=None, initial=0))
    if largest > MAX_MAGNITUDE:
        raise ValueError(
            f"{field.name} in {part.name} is damaged or incomplete: it has values as large as "
            f"{largest:.2g}. Download the file again."
        )
    return values


def convert(part: FilePart, name: str, values: NDArray[np.float32], units: str, period: float) -> NDArray[np.float32]:
    """Values of a variable in other units than its file has; as they are if the units are the same or not stated.

    Args:
        part: The file that they are from.
        name: The variable.
        values: Its values.
        units: The units that they are to have; empty for those of the file.
        period: The hours over which sums and means are taken.

    Raises:
        ValueError: The file has units that cannot be converted.
    """
    own = part.units(name)
    if not own or not units or own == units:
        return values
    variable = KNOWN.get(name, Variable(name, name, units))
    try:
        scale, offset = variable.conversion(own, units, period)
    except UnitError as error:
        raise ValueError(
            f"{part.name} gives {name} in {own!r}, where {units!r} or units that can be converted to it were expected: "
            f"{error}. Correct its attribute `units`, or leave it out."
        ) from error
    if (scale, offset) == (1.0, 0.0):
        return values
    return (values.astype(np.float64) * scale + offset).astype(np.float32)


def step_of(times: NDArray[np.datetime64]) -> float | None:
    """The median number of hours from one time to the next; None if there is only one.

    Args:
        times: Times in order `[T]`.
    """
    return float(np.median(np.diff(times) / np.timedelta64(1, "h"))) if len(times) > 1 else None


def all_times(parts: list[FilePart]) -> NDArray[np.datetime64]:
    """The times of all parts, each once, in order `[T]`.

    Args:
        parts: At least one.
    """
    return np.unique(np.concatenate([part.times for part in parts]))


def check_overlap(parts: list[FilePart], names: list[str]) -> None:
    """Raise unless the variables have a time in common.

    Args:
        parts: The parts of all files.
        names: Short names of variables.
    """
    times = {name: all_times([part for part in parts if name in part.data]) for name in names}
    if not len(reduce(np.intersect1d, times.values())):
        listed = "\n".join(f"  {name}: {span(found)}" for name, found in times.items())
        raise ValueError(f"The variables have no time in common:\n{listed}\nGive files of the same period.")


def merged_attributes(parts: list[FilePart]) -> dict[str, str]:
    """The attributes of all files, each value once.

    Args:
        parts: The parts of all files.
    """
    merged: dict[str, str] = {}
    for key in dict.fromkeys(key for part in parts for key in part.attributes):
        texts = [part.attributes[key] for part in parts if key in part.attributes]
        unique = sorted({word for text in texts for word in text.split()}) if key == "expver" else dict.fromkeys(texts)
        merged[key] = " ".join(unique)
    return merged


def span(times: NDArray[np.datetime64]) -> str:
    """The number of times, the first and the last, in words.

    Args:
        times: Times in order `[T]`.
    """
    if not len(times):
        return "no hours"
    first, last = np.datetime_as_string(times[[0, -1]], unit="m")
    return f"{len(times)} hours from {first} to {last}"
