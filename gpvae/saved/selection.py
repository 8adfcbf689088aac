"""The times, locations and variables that a user names, found among those that a run has learnt."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from datamodules.era5 import Coordinates, Variable
from gpvae.utils.spelling import nearest

#: Coordinates of files in single precision differ from those in double precision by less than this many degrees.
SAME_DEGREES = 1e-5
#: Other names of coordinates.
NAMES = {"latitude": ("latitude", "lat"), "longitude": ("longitude", "lon", "lng")}


def find_times(times: Any, origin: np.datetime64 | None = None) -> NDArray[np.datetime64]:  # noqa: ANN401
    """Times as datetime64 in nanoseconds `[T]`, in the given order.

    Args:
        times: Anything that pandas converts to times: an index, strings, datetimes, a coordinate of xarray; one or
            several. A time zone is converted to UTC.
        origin: The first hour of the stream, before which there is nothing to predict.

    Raises:
        ValueError: They are not times, or before the first hour.
    """
    values = np.atleast_1d(times.values if hasattr(times, "values") else np.asarray(times))
    if values.ndim != 1 or not len(values):
        raise ValueError(f"times has shape {values.shape}: give one time or a list of them, such as '2020-01-31T06:00'")
    if values.dtype.kind in "iufb":
        raise ValueError(f"times are numbers of type {values.dtype}: give dates, such as '2020-01-31T06:00'")
    if values.dtype.kind == "M":
        values = values.astype("datetime64[ns]")
    form = "ISO8601" if all(isinstance(value, str) for value in values.tolist()) else None
    zone = getattr(times, "tz", None) or getattr(getattr(times, "dt", None), "tz", None)
    try:
        index = pd.DatetimeIndex(pd.to_datetime(times if zone is not None else values, utc=True, format=form))
    except (ValueError, TypeError) as error:
        reason = str(error).partition(". You might")[0]  # pandas goes on with advice about its own arguments
        raise ValueError(f"times cannot be read as dates such as '2020-01-31T06:00': {reason}") from error
    found = index.tz_localize(None).to_numpy().astype("datetime64[ns]")
    if np.isnat(found).any():
        raise ValueError(f"{int(np.isnat(found).sum())} of {len(found)} times are missing (NaT): leave them out")
    if origin is not None and found.min() < origin:
        first, start = np.datetime_as_string([found.min(), origin], unit="m")
        raise ValueError(f"the first of the times is {first}, and the stream begins at {start}: give later times")
    return found


def find_variables(names: Sequence[str] | str | None, learnt: Sequence[Variable]) -> list[int]:
    """Indices of variables.

    Args:
        names: Short or long names; all if None.
        learnt: The variables of the run.

    Raises:
        ValueError: A variable was not learnt.
    """
    if names is None:
        return list(range(len(learnt)))
    known = {variable.short_name: number for number, variable in enumerate(learnt)}
    known |= {variable.name: number for number, variable in enumerate(learnt)}
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in known:
            short_names = ", ".join(variable.short_name for variable in learnt)
            raise ValueError(f"the run has no variable {name!r}{nearest(name, known)}; it has {short_names}")
    if not chosen:
        raise ValueError("variables is empty: name some, or leave it out for all")
    return [known[name] for name in chosen]


def find_locations(locations: Any, learnt: Coordinates) -> Tensor:  # noqa: ANN401
    """Indices of locations `[B]`.

    Args:
        locations: Indices; pairs of latitude and longitude; or a dataset or array of xarray with these coordinates, of
            which all grid cells are taken. All if None.
        learnt: The coordinates of the locations that the run has learnt.

    Raises:
        ValueError: A location was not learnt; the message names the nearest one that was.
    """
    count = len(learnt.latitude)
    if locations is None:
        return torch.arange(count)
    if isinstance(locations, slice):
        chosen = np.arange(count)[locations]
    elif isinstance(locations, xr.Dataset | xr.DataArray):
        chosen = _match(pairs_of(locations), learnt)
    else:
        given = np.asarray(locations)
        if given.dtype.kind in "iu" and given.ndim <= 1:
            chosen = _check_indices(np.atleast_1d(given), count)
        elif given.dtype.kind in "iuf" and given.shape[-1:] == (2,) and given.ndim <= 2:
            chosen = _match(np.atleast_2d(given).astype(np.float64), learnt)
        else:
            raise ValueError(
                f"locations is {locations!r}: give indices such as [0, 3], pairs of latitude and longitude such as "
                "[[51.5, -0.25]], or a dataset of xarray with latitude and longitude"
            )
    if not len(chosen):
        raise ValueError(f"locations selects none of the {count} locations of the run")
    return torch.from_numpy(chosen)


def _check_indices(indices: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    wrong = indices[(indices < -count) | (indices >= count)]
    if len(wrong):
        raise ValueError(
            f"{wrong[0]} is not the index of one of {count} locations, which count from 0; give latitude and longitude "
            "as pairs of decimal numbers, such as [[52.0, 0.0]]"
        )
    return indices.astype(np.int64) % count


def pairs_of(data: xr.Dataset | xr.DataArray) -> NDArray[np.float64]:
    """Latitude and longitude of every location or grid cell of a dataset `[B, 2]`, row by row."""
    axes = []
    for axis, names in NAMES.items():
        name = next((name for name in names if name in data.coords), None)
        if name is None:
            raise ValueError(f"locations has no coordinate {axis}; it has {', '.join(map(str, data.coords)) or 'none'}")
        axes.append(data.coords[name].variable)
    latitude, longitude = axes
    if latitude.dims == longitude.dims:
        pairs = [np.atleast_1d(axis.values).ravel() for axis in axes]
    else:
        pairs = [grid.ravel() for grid in np.meshgrid(latitude.values, longitude.values, indexing="ij")]
    return np.stack(pairs, axis=-1).astype(np.float64)


def nearest_locations(pairs: NDArray[np.float64], learnt: Coordinates) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The learnt location nearest to each latitude and longitude `[B, 2]`, and whether it is the same.

    Longitudes may differ by a full circle.

    Args:
        pairs: Latitudes and longitudes.
        learnt: The coordinates of the locations that the run has learnt.
    """
    latitude, longitude = learnt.latitude.astype(np.float64), learnt.longitude.astype(np.float64)
    best, same = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=bool)
    for number, (north, east) in enumerate(pairs):
        across = (longitude - east + 180) % 360 - 180
        one = int(np.hypot(latitude - north, across * np.cos(np.radians(north))).argmin())
        best[number] = one
        same[number] = abs(latitude[one] - north) < SAME_DEGREES and abs(across[one]) < SAME_DEGREES
    return best, same


def _match(pairs: NDArray[np.float64], learnt: Coordinates) -> NDArray[np.int64]:
    """Indices of the learnt locations with these coordinates `[B]`."""
    best, same = nearest_locations(pairs, learnt)
    if not same.all():
        first = int(same.argmin())
        (north, east), near = pairs[first], best[first]
        missing = int((~same).sum())
        count = f"{missing} of {len(pairs)} locations were" if len(pairs) > 1 else "the location was"
        raise ValueError(
            f"{count} not learnt: the nearest to ({north:g}, {east:g}) that was is ({float(learnt.latitude[near]):g}, "
            f"{float(learnt.longitude[near]):g}), number {near} of {len(learnt.latitude)}"
        )
    return best
