"""A file in the common layout: its values are read on demand and converted, its times compared with those of others."""

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import xarray as xr
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray

from datamodules.era5.files.grid import Grid
from datamodules.era5.limits import FILLS, are_among
from datamodules.era5.units import UnitError
from datamodules.era5.variables import KNOWN, Variable

MAX_MAGNITUDE = 1e30  # in any units; a larger value was never written, or is damaged


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


class Selection(NamedTuple):
    """The variables and times of an archive that a query selects.

    Args:
        names: Short names of the variables.
        times: Times, in order `[T]`.
        attributes: Attributes of the files.
    """

    names: list[str]
    times: NDArray[np.datetime64]
    attributes: dict[str, str]


def load(part: FilePart, field: xr.DataArray) -> NDArray[np.float32]:
    """Read values, in single precision.

    Args:
        part: The file they are from.
        field: The variable, or part of it.

    Raises:
        ValueError: They cannot be read, or are impossibly large.
    """
    if field.encoding.get("scale_factor") == 0:
        rank_zero_info(
            f"{field.name} in {part.name} has scale_factor 0, so its values cannot be unpacked: all count as missing."
        )
        return np.full(field.shape, np.nan, np.float32)
    try:
        values = field.values.astype(np.float32)
    except MemoryError as error:
        raise ValueError(
            f"{field.size:,} values of {field.name} in {part.name} do not fit in memory: choose fewer locations or "
            "hours, or set on_disk to true."
        ) from error
    except Exception as error:  # anything that the libraries raise for a damaged file
        raise ValueError(f"{field.name} in {part.name} is damaged: {error}. Download the file again.") from error
    if _largest(values) > MAX_MAGNITUDE:
        marks = are_among(values, FILLS[np.abs(FILLS) > MAX_MAGNITUDE])
        values[marks] = np.nan
        if marks.any():
            rank_zero_info(
                f"{field.name} in {part.name}: {marks.sum():,} values mark gaps, though the file does not say so, and "
                "count as missing."
            )
    if (largest := _largest(values)) > MAX_MAGNITUDE:
        raise ValueError(
            f"{field.name} in {part.name} is damaged or incomplete: it has values as large as "
            f"{largest:.2g}. Download the file again."
        )
    return values


def _largest(values: NDArray[np.float32]) -> float:
    """The largest magnitude; 0 if there are no values."""
    return float(max(np.fmax.reduce(values, axis=None, initial=0), -np.fmin.reduce(values, axis=None, initial=0)))


def possible_fills(part: FilePart, name: str) -> NDArray[np.float32]:
    """Numbers that may mark missing values of a variable, in the units of its file: extremes of packed integers, too.

    Args:
        part: The file.
        name: The variable.
    """
    packing = part.data[name].encoding
    kind, scale, offset = (
        np.dtype(packing.get("dtype", "f4")),
        packing.get("scale_factor"),
        packing.get("add_offset", 0),
    )
    if kind.kind not in "iu" or scale is None:
        return FILLS
    extremes = np.array([np.iinfo(kind).min, np.iinfo(kind).min + 1, np.iinfo(kind).max], dtype=np.float64)
    return np.concatenate([FILLS, (extremes * float(scale) + float(offset)).astype(np.float32)])


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


def file_with(parts: list[FilePart], name: str, time: np.datetime64) -> str:
    """The name of the first file with a variable at a time; empty if there is none.

    Args:
        parts: The parts of all files.
        name: The variable.
        time: The time.
    """
    return next((part.name for part in parts if name in part.data and time in part.times), "")


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
