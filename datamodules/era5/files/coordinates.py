"""Time, latitude and longitude of any file, whatever it calls them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from lightning.pytorch.utilities import rank_zero_info

from datamodules.era5.files.calendars import to_standard_calendar
from datamodules.era5.files.sizes import check_cells

NAMES = {
    "time": ("valid_time", "time", "xtime", "datetime", "date", "timestamp", "date_time"),
    "latitude": ("latitude", "lat", "nav_lat", "xlat", "lat_rho", "clat", "ylat"),
    "longitude": ("longitude", "lon", "lng", "long", "nav_lon", "xlong", "lon_rho", "clon", "xlon"),
}
"""Names of coordinates in lower case, the first that a file has is taken."""
UNITS = {
    "latitude": ("degrees_north", "degree_north", "degrees_n", "degree_n"),
    "longitude": ("degrees_east", "degree_east", "degrees_e", "degree_e"),
}


def normalise(data: xr.Dataset, name: str, location: Sequence[float] | None = None) -> xr.Dataset:
    """A file with `time`, `latitude` and `longitude` under these names, among its coordinates.

    They are found by name, by `standard_name` or by units. Times become dates of the standard calendar along the
    dimension `time`; coordinates in radians become degrees.

    Args:
        data: The file, opened by xarray.
        name: Its name in messages.
        location: Latitude and longitude of a file that states none.

    Raises:
        ValueError: One of them is missing, or not what it should be.
    """
    variables = {str(key): field.to_base_variable() for key, field in data.variables.items()}
    found = {role: find(variables, role) for role in NAMES}
    if found["time"] is None:
        known = ", ".join(variables) or "none"
        raise ValueError(f"{name} has no time: neither `time` nor `valid_time` is among its variables ({known}).")
    # A variable that is called as a coordinate but is none, such as the time of a forecast's start, makes way.
    own = {old: role for role, old in found.items() if old is not None}
    variables = {own.get(key, key): field for key, field in variables.items() if key in own or key not in NAMES}
    fields = [key for key in map(str, data.data_vars) if key not in own and key not in NAMES]
    variables = _with_time(variables, fields, name)
    if found["latitude"] is None and found["longitude"] is None and location is not None:
        variables |= {"latitude": xr.Variable((), float(location[0])), "longitude": xr.Variable((), float(location[1]))}
    for role in ("latitude", "longitude"):
        if role in variables:
            variables[role] = _in_degrees(_at_one_time(variables[role], f"The {role} of {name}"))
    return dataset_of(variables, fields, data.attrs)


def dataset_of(
    variables: Mapping[str, xr.Variable], fields: Collection[str], attributes: Mapping[Any, Any]
) -> xr.Dataset:
    """A dataset of some variables, with the others as its coordinates.

    Args:
        variables: All of them, by name.
        fields: The names of those that are not coordinates.
        attributes: The attributes of the dataset.
    """
    dims = {dim for field in variables.values() for dim in field.dims}
    fitting = {key: field for key, field in variables.items() if key not in dims or field.dims == (key,)}
    coordinates = {key: field for key, field in fitting.items() if key not in fields or key in dims}
    return xr.Dataset({key: fitting[key] for key in fields if key not in coordinates}, coordinates, attributes)


def find(variables: Mapping[str, xr.Variable], role: str) -> str | None:
    """The name of the variable that is the time, the latitude or the longitude of a file; None if it has none.

    Args:
        variables: The variables of the file.
        role: `time`, `latitude` or `longitude`.
    """
    lower = {key.lower(): key for key in reversed(list(variables))}
    named = [lower[known] for known in NAMES[role] if known in lower]
    candidates = [*named, *(key for key, field in variables.items() if _states(field, role))]
    if role != "time":
        return next((key for key in candidates if variables[key].dtype.kind in "iuf"), None)
    dates = [key for key, field in variables.items() if field.ndim == 1 and _has_dates(field)]
    candidates += dates if len(dates) == 1 else []
    return next((key for key in candidates if _has_dates(variables[key])), next(iter(candidates), None))


def _states(field: xr.Variable, role: str) -> bool:
    units = str(field.attrs.get("units", "")).lower()
    return field.attrs.get("standard_name") == role or units in UNITS.get(role, ())


def _has_dates(field: xr.Variable) -> bool:
    if field.dtype.kind == "M":
        return True
    return field.dtype.kind == "O" and field.size > 0 and hasattr(np.asarray(field.values).flat[0], "calendar")


def _with_time(variables: dict[str, xr.Variable], fields: Collection[str], name: str) -> dict[str, xr.Variable]:
    time = variables["time"]
    if time.size and not _has_dates(time):
        raise ValueError(f"The time of {name} is {time.dtype}, not dates: its units or calendar are missing.")
    if time.ndim == 0:  # the file of one time
        along = {"time", *fields}
        variables = {key: _along_time(field) if key in along else field for key, field in variables.items()}
    elif time.ndim == 1:
        variables = {key: renamed(field, {str(time.dims[0]): "time"}) for key, field in variables.items()}
    time = variables["time"]
    if time.dims != ("time",):
        raise ValueError(f"The time of {name} has dimensions {time.dims}: expected `time` alone.")
    if not time.size:
        raise ValueError(f"{name} has no hours: its time has no entries. Leave it out, or download it again.")
    times, kept = to_standard_calendar(time.values, name)
    if np.isnat(times).any():
        raise ValueError(f"Some times of {name} are missing. Download it again.")
    if len(kept) < time.size:
        rank_zero_info(
            f"{name}: {time.size - len(kept):,} of {time.size:,} times are on dates that the standard calendar does "
            "not have, such as 30 February, and are left out."
        )
        variables = {key: field.isel(time=kept, missing_dims="ignore") for key, field in variables.items()}
    return {**variables, "time": xr.Variable("time", times)}


def _along_time(field: xr.Variable) -> xr.Variable:
    return field.set_dims(("time", *field.dims))  # type: ignore[no-untyped-call]


def renamed(field: xr.Variable, names: Mapping[str, str]) -> xr.Variable:
    """A variable with other names of dimensions.

    Args:
        field: The variable.
        names: The new name of each dimension that gets one.
    """
    dims = [names.get(str(dim), dim) for dim in field.dims]
    if dims == list(field.dims):
        return field
    field = field.copy(deep=False)
    field.dims = dims
    return field


def _at_one_time(field: xr.Variable, name: str) -> xr.Variable:
    """A coordinate without the time, along which some models repeat it."""
    if "time" not in field.dims or field.ndim == 1:
        return field
    check_cells(field.size, name)
    values = field.transpose("time", ...).values
    if not np.array_equal(values, np.broadcast_to(values[0], values.shape)):
        raise ValueError(f"{name} changes with time: locations that move are not supported.")
    return field.isel(time=0)


def _in_degrees(field: xr.Variable) -> xr.Variable:
    if str(field.attrs.get("units", "")).lower() not in ("rad", "radian", "radians"):
        return field
    return xr.Variable(field.dims, np.degrees(field.values.astype(np.float64)))
