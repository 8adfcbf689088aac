"""Tables in CSV: a column of times, and a column for each variable."""

import re
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from datamodules.era5.files.coordinates import NAMES
from datamodules.era5.files.sizes import check_number, check_table

SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz")
_HEADER = re.compile(r"^\s*(?P<name>[^\[(]+?)\s*[\[(](?P<units>[^\])]*)[\])]\s*$")


def is_table(name: str) -> bool:
    """Whether a file is a table, by its name.

    Args:
        name: The name.
    """
    return name.lower().endswith(SUFFIXES)


def open_table(path: Path, name: str) -> xr.Dataset:
    """Read a table; units may be in its header, as `t2m [degC]`.

    Times are ISO 8601, UTC if they have no offset. Latitude and longitude are columns, if the table has them; several
    locations follow each other in any order. Lines that begin with # are comments, columns of text are left out.

    Args:
        path: The file.
        name: Its name in messages.

    Raises:
        ValueError: It has no times, or a value is not a number.
    """
    compressed = _is_gzip(path)
    try:
        check_table(path, name, compressed=compressed)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name} cannot be read as a table: {error}") from error
    try:
        table = pd.read_csv(
            path, sep=None, engine="python", comment="#", compression="gzip" if compressed else None,
            skipinitialspace=True,
        )  # fmt: skip
    except Exception as error:  # anything that pandas raises for what is not a table
        raise ValueError(f"{name} cannot be read as a table: {error}") from error
    check_number(table.shape[1], "columns", name)
    if not len(table):
        raise ValueError(f"{name} has no rows below its header: leave it out, or download it again.")
    units: dict[str, str] = {}
    for column in map(str, table.columns):
        header = _HEADER.match(column)
        units[header["name"] if header else column.strip()] = header["units"].strip() if header else ""
    table.columns = pd.Index(list(units)) if len(units) == table.shape[1] else table.columns
    lower = {column.lower(): column for column in reversed(list(map(str, table.columns)))}
    own = {role: next((lower[key] for key in keys if key in lower), None) for role, keys in NAMES.items()}
    if own["time"] is None:
        raise ValueError(f"{name} has no column of times, such as `time`: it has {', '.join(map(str, table.columns))}.")
    times = _times(table.pop(own["time"]), name)
    places = [_numbers(table.pop(column), name) for role, column in own.items() if column and role != "time"]
    if any(place is None for place in places):
        raise ValueError(
            f"Latitude and longitude in {name} are not numbers: give them in degrees, such as 51.5 and -0.1."
        )
    columns = {column: _numbers(table[column], name) for column in table.columns}
    fields = {column: values for column, values in columns.items() if values is not None}
    if not fields:
        raise ValueError(f"{name} has no column of numbers beside times and locations: is it the right file?")
    return _by_location(times, [place for place in places if place is not None], fields, units, name)


def _by_location(
    times: np.ndarray, places: list[np.ndarray], fields: dict[str, np.ndarray], units: dict[str, str], name: str
) -> xr.Dataset:
    """The columns of a table over time, and over the location if the table states it."""
    where = np.stack(places, axis=-1) if len(places) == 2 else np.zeros((len(times), 0))
    cells, location = np.unique(where, axis=0, return_inverse=True)
    hours, row = np.unique(times, return_inverse=True)
    location = location.reshape(-1)
    if len(np.unique(np.stack([row, location]), axis=1).T) < len(times):
        raise ValueError(f"{name} has several rows for one time, and no latitude and longitude that tell them apart.")
    data = xr.Dataset(coords={"time": hours})
    for column, values in fields.items():
        array = np.full((len(hours), len(cells)), np.nan)
        array[row, location] = values
        attributes = {"units": units[column]} if units.get(column) else {}
        data[column] = ("time", "location"), array, attributes
    if not cells.size:
        return data.squeeze("location")
    return data.assign_coords(latitude=("location", cells[:, 0]), longitude=("location", cells[:, 1]))


def _times(column: "pd.Series[str]", name: str) -> np.ndarray:
    try:
        dates = pd.to_datetime(column.astype(str), format="ISO8601", utc=True)
    except ValueError as error:
        raise ValueError(f"A time of {name} is not a date such as 2020-01-31 06:00: {error}") from error
    return dates.dt.tz_localize(None).to_numpy().astype("datetime64[ns]")


def _numbers(column: "pd.Series[float]", name: str) -> np.ndarray | None:
    """The values of a column; None if it is text."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(float)
    wrong = np.isnan(numbers) & column.notna().to_numpy()
    if wrong.all() and len(wrong):
        return None
    if wrong.any():
        raise ValueError(f"{column.name} in {name} has the value {column[wrong].iloc[0]!r}, which is not a number.")
    return numbers


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
