"""Downloads from the Copernicus Climate Data Store: one request for each calendar month, each kept as one file."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cdsapi
import numpy as np
import requests
from cdsapi.api import get_url_key_verify
from lightning.pytorch.utilities import rank_zero_info

from datamodules.era5.containers import CLASSIC, HDF, ZIP
from datamodules.era5.folders import kept, writable_folder
from datamodules.era5.variables import DEFAULT_VARIABLES, KNOWN

DATASET = "reanalysis-era5-single-levels"
FOLDER = "era5_cds"
PATIENCE = {"timeout": 60, "retry_max": 3, "sleep_max": 20}  # seconds; by default it would try for hours
MASK = "land_sea_mask"


def month_requests(
    variables: Sequence[str] | None, area: Sequence[float], start: np.datetime64, num_hours: int
) -> list[dict[str, Any]]:
    """What to ask for: the days that are needed, month by month, with the land-sea mask.

    Args:
        variables: Long or short names; the usual seventeen if not given.
        area: North, west, south and east ends, in degrees.
        start: The first hour.
        num_hours: How many hours.

    Raises:
        ValueError: The area is not one, or a variable cannot be requested by this name.
    """
    if len(area) != 4 or not (-90 <= area[2] < area[0] <= 90 and -180 <= area[1] < area[3] <= 360):
        raise ValueError(
            f"area is {list(area)}: it must be [north, west, south, east] in degrees, as [61, -9, 49.5, 2]."
        )
    names = [variable.name for variable in DEFAULT_VARIABLES] if variables is None else list(variables)
    names = sorted({KNOWN[name].name if name in KNOWN else name for name in [*names, MASK]})
    first = start.astype("datetime64[D]")
    last = (start.astype("datetime64[h]") + (num_hours - 1)).astype("datetime64[D]")
    months: dict[str, list[str]] = {}
    for day in np.arange(first, last + 1).astype(str):
        months.setdefault(day[:7], []).append(day[8:])
    return [
        {
            "product_type": ["reanalysis"],
            "variable": names,
            "year": [month[:4]],
            "month": [month[5:]],
            "day": days,
            "time": [f"{hour:02d}:00" for hour in range(24)],
            "area": list(area),
            "data_format": "netcdf",
            "download_format": "unarchived",
        }
        for month, days in months.items()
    ]


def file_name(request: dict[str, Any]) -> str:
    """The name a request is kept under: equal requests have equal names.

    Args:
        request: The request.
    """
    digest = hashlib.sha256(json.dumps([DATASET, request], sort_keys=True).encode()).hexdigest()[:12]
    return f"era5_{request['year'][0]}-{request['month'][0]}_{digest}.nc"


def download(wanted: Sequence[dict[str, Any]]) -> list[str]:
    """Download what is not here yet, and give the names of all files, in order.

    Args:
        wanted: What `month_requests` gives.

    Raises:
        ValueError: The key is of the kind that the Climate Data Store no longer takes.
        ConnectionError: It is not set up, cannot be reached, or refuses a request.
    """
    client = None
    files = []
    for request in wanted:
        name = file_name(request)
        file = kept(f"{FOLDER}/{name}")
        if file is None:
            client = client or _client()
            file = writable_folder(FOLDER) / name
            rank_zero_info(f"Requesting ERA5 of {request['year'][0]}-{request['month'][0]}; the queue can take hours.")
            _retrieve(client, request, file)
        files.append(str(file))
    return files


def _client() -> cdsapi.Client:
    by_hand = "See https://cds.climate.copernicus.eu/how-to-api, or use source: sample or files."
    try:
        url, key, verify = get_url_key_verify(None, None, None)
    except Exception as error:  # cdsapi raises nothing more particular
        raise ConnectionError(f"Downloads are not set up: {error}. {by_hand}") from error
    if ":" in key:
        raise ValueError(
            "The key for the Climate Data Store is of the old kind, with a colon, which is no longer taken: get a new "
            f"one from your profile there. {by_hand}"
        )
    return cdsapi.Client(url=url, key=key, verify=verify, progress=False, delete=False, **PATIENCE)


def _retrieve(client: cdsapi.Client, request: dict[str, Any], target: Path) -> None:
    part = target.with_name(f"{target.name}.{os.getpid()}.part")  # so that nobody ever reads half of it
    try:
        client.retrieve(DATASET, request, str(part))
        with part.open("rb") as file:
            start = file.read(4)
        if not start.startswith((ZIP, HDF, CLASSIC)):
            raise ValueError(f"what came is not netCDF, but begins with {start!r}")
        part.replace(target)
    except (requests.RequestException, OSError, RuntimeError, ValueError, AssertionError) as error:
        raise ConnectionError(
            f"ERA5 of {request['year'][0]}-{request['month'][0]} could not be downloaded: {str(error) or repr(error)}\n"
            "Check the network, that the licence of the dataset is accepted and that the request is not too large, "
            "and run again: what is here is kept."
        ) from error
    finally:
        part.unlink(missing_ok=True)
