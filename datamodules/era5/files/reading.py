"""Opening and reading one file with errors for people, and what several files are said to be together."""

from contextlib import ExitStack
from functools import reduce
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.files.layouts import FilePart

MOST = 1e30  # in any units: what is beyond was never written, or is damaged


def open_lazily(path: Path, name: str, stack: ExitStack) -> xr.Dataset:
    """Open a netCDF file and read its coordinates, but no values.

    Args:
        path: The file.
        name: What to call it in messages.
        stack: Closes the file in the end.

    Raises:
        ValueError: It cannot be opened.
    """
    try:
        data = stack.enter_context(xr.open_dataset(path, engine="netcdf4", cache=False, decode_timedelta=False))
        for variable in data.variables.values():
            if variable.ndim <= 1:
                variable.load()
    except Exception as error:  # whatever a damaged file makes of the libraries
        raise ValueError(f"{name} is damaged and cannot be opened: {error}. Download it again.") from error
    return data


def load(part: FilePart, field: xr.DataArray) -> NDArray[np.float32]:
    """Read values, in single precision.

    Args:
        part: Where they are from.
        field: What to read of it.

    Raises:
        ValueError: They cannot be read, or are beyond all measure.
    """
    try:
        values = field.values.astype(np.float32)
    except Exception as error:  # whatever a damaged file makes of the libraries
        raise ValueError(f"{field.name} in {part.name} is damaged: {error}. Download the file again.") from error
    largest = max(np.fmax.reduce(values, axis=None, initial=0), -np.fmin.reduce(values, axis=None, initial=0))
    if largest > MOST:
        raise ValueError(
            f"{field.name} in {part.name} is damaged, or was not written to its end: there are values as large as "
            f"{largest:.2g}. Download the file again."
        )
    return values


def all_times(parts: list[FilePart]) -> NDArray[np.datetime64]:
    """Every time that one of the parts has, in order `[T]`.

    Args:
        parts: At least one.
    """
    return np.unique(np.concatenate([part.times for part in parts]))


def check_overlap(parts: list[FilePart], names: list[str]) -> None:
    """Raise unless at some time all variables have values.

    Args:
        parts: What the files hold.
        names: Short names of variables.
    """
    times = {name: all_times([part for part in parts if name in part.data]) for name in names}
    if not len(reduce(np.intersect1d, times.values())):
        listed = "\n".join(f"  {name}: {span(found)}" for name, found in times.items())
        raise ValueError(f"The variables have no time in common:\n{listed}\nGive files of the same period.")


def merged_attributes(parts: list[FilePart]) -> dict[str, str]:
    """What the files say of themselves, each thing once.

    Args:
        parts: What the files hold.
    """
    merged: dict[str, str] = {}
    for key in dict.fromkeys(key for part in parts for key in part.attributes):
        said = [part.attributes[key] for part in parts if key in part.attributes]
        words = sorted({word for text in said for word in text.split()}) if key == "expver" else dict.fromkeys(said)
        merged[key] = " ".join(words)
    return merged


def span(times: NDArray[np.datetime64]) -> str:
    """How many times these are, and from when to when.

    Args:
        times: Times in order `[T]`.
    """
    if not len(times):
        return "no hours"
    first, last = np.datetime_as_string(times[[0, -1]], unit="m")
    return f"{len(times)} hours from {first} to {last}"
