"""Opens and reads single files, with clear errors; times and attributes of several files."""

from contextlib import ExitStack
from functools import reduce
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.files.layouts import FilePart

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
