"""Requests to the Climate Data Store: one for each calendar month, or halves of it where it is too large."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datamodules.era5.variables import DEFAULT_VARIABLES, KNOWN

DATASET = "reanalysis-era5-single-levels"
POINT_DATASET = "reanalysis-era5-single-levels-timeseries"  # one location a request, some of the variables, no queue
MASK = "land_sea_mask"
STEP = 0.25  # degrees between grid cells

Request = dict[str, Any]


def month_requests(
    variables: Sequence[str] | None,
    area: Sequence[float],
    start: np.datetime64,
    num_hours: int,
    *,
    locations: Sequence[Sequence[float]] | None = None,
) -> list[Request]:
    """The requests for a period: the days that are needed, month by month, with the land-sea mask.

    Those for single locations have no mask, and another dataset answers them, see `dataset_and_body`.

    Args:
        variables: Long or short names; the seventeen defaults if not given.
        area: North, west, south and east edges, in degrees.
        start: The first hour.
        num_hours: The number of hours.
        locations: Latitude and longitude of locations, each of which makes a request; instead of `area`.

    Raises:
        ValueError: The area is invalid.
    """
    if len(area) != 4 or not (-90 <= area[2] < area[0] <= 90 and -180 <= area[1] < area[3] <= 360):
        raise ValueError(
            f"area is {list(area)}: it must be [north, west, south, east] in degrees, as [61, -9, 49.5, 2]; from 170 "
            "to 190 degrees east across the date line."
        )
    names = [variable.name for variable in DEFAULT_VARIABLES] if variables is None else list(variables)
    names += [MASK] if locations is None else []
    names = sorted({KNOWN[name].name if name in KNOWN else name for name in names})
    first = start.astype("datetime64[D]")
    last = (start + np.timedelta64(num_hours, "h") - np.timedelta64(1, "s")).astype("datetime64[D]")
    months: dict[str, list[str]] = {}
    for day in np.arange(first, last + 1).astype(str):
        months.setdefault(day[:7], []).append(day[8:])
    wheres: list[Request] = [{"area": [float(degrees) for degrees in area]}]
    if locations is not None:
        wheres = [{"location": {"latitude": float(place[0]), "longitude": float(place[1])}} for place in locations]
    return [
        {
            "product_type": ["reanalysis"],
            "variable": names,
            "year": [month[:4]],
            "month": [month[5:]],
            "day": days,
            "time": [f"{hour:02d}:00" for hour in range(24)],
            **where,
            "data_format": "netcdf",
            "download_format": "unarchived",
        }
        for where in wheres
        for month, days in months.items()
    ]


def check_inside(area: Sequence[float], locations: Sequence[Sequence[float]]) -> None:
    """Raise unless an area has a grid cell near each location: before it is downloaded, which may take hours.

    Args:
        area: North, west, south and east edges, in degrees.
        locations: Latitude and longitude of locations.
    """
    north, west, south, east = area
    for latitude, longitude in locations:
        is_between = (longitude - west + STEP) % 360 <= east - west + 2 * STEP
        if not (south - STEP <= latitude <= north + STEP and is_between):
            raise ValueError(
                f"{[latitude, longitude]} in `locations` is outside of the area to download, which is {list(area)} "
                "(north, west, south, east): set area to a region around all locations."
            )


def dataset_and_body(request: Request) -> tuple[str, Request]:
    """The dataset that answers a request, and what is sent to it.

    Args:
        request: The request; of a location if it has one.
    """
    if "location" not in request:
        return DATASET, request
    month = f"{request['year'][0]}-{request['month'][0]}"
    dates = f"{month}-{request['day'][0]}/{month}-{request['day'][-1]}"
    return POINT_DATASET, {**{key: request[key] for key in ("variable", "location", "data_format")}, "date": [dates]}


def file_name(request: Request) -> str:
    """The name of the file of a request: equal requests have equal names.

    Args:
        request: The request.
    """
    digest = hashlib.sha256(json.dumps([dataset_and_body(request)[0], request], sort_keys=True).encode()).hexdigest()[
        :12
    ]
    return f"era5_{request['year'][0]}-{request['month'][0]}_{digest}.nc"


def title(request: Request) -> str:
    """The name of a request in messages.

    Args:
        request: The request.
    """
    days, variables = request["day"], request["variable"]
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    what = variables[0] if len(variables) == 1 else f"{len(variables)} variables"
    where = " at {latitude:g} °N, {longitude:g} °E".format(**request["location"]) if "location" in request else ""
    return f"ERA5 of {request['year'][0]}-{request['month'][0]}-{span}{where} ({what})"


def halves(request: Request) -> list[Request]:
    """Two requests that equal one: half the days each, or half the variables of one day; itself if it is indivisible.

    Args:
        request: The request.
    """
    key = "day" if len(request["day"]) > 1 else "variable"
    parts, middle = request[key], (len(request[key]) + 1) // 2
    return [{**request, key: part} for part in (parts[:middle], parts[middle:]) if part]


def hours_of(request: Request) -> NDArray[np.datetime64]:
    """Every requested hour, in order `[T]`.

    Args:
        request: The request.
    """
    month = f"{request['year'][0]}-{request['month'][0]}"
    return np.array(
        [np.datetime64(f"{month}-{day}T{time}", "ns") for day in request["day"] for time in request["time"]]
    )


def max_bytes(request: Request) -> int:
    """An upper bound on the unpacked size of the files of a request.

    Args:
        request: The request.
    """
    cells = 4.0  # of one location, with its coordinates
    if "area" in request:
        north, west, south, east = request["area"]
        cells = ((north - south) / STEP + 2) * ((east - west) / STEP + 2)
    values = cells * len(request["day"]) * len(request["time"]) * len(request["variable"])
    return int(8 * values) + 16 * 2**20
