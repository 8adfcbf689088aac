"""Any number of ERA5 files as one dataset: opened together, and read only where asked."""

import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.files.containers import expand_patterns, unpack
from datamodules.era5.files.layouts import FilePart, file_parts
from datamodules.era5.files.reading import all_times, check_overlap, load, merged_attributes, open_lazily, span
from datamodules.era5.variables import KNOWN, Variable, check_observed, choose, describe, is_static

MOST_VALUES = 2**26  # read at once: half a gigabyte while it is unpacked


class Asked(NamedTuple):
    """What there is of what was asked for.

    Args:
        names: Short names of the variables.
        times: In order `[T]`.
        attributes: What the files say of themselves.
    """

    names: list[str]
    times: NDArray[np.datetime64]
    attributes: dict[str, str]


class Archive:
    """ERA5 files of any layout, as if they were one.

    Files may differ in time (a month each), in variables (a step type each), in layout and in which data are final.
    Where hours come twice, final values go before preliminary ones, and otherwise those of the first file. Hours that
    no file has are simply not there; hours that only some variables have are NaN in the others.

    Use it in a `with` statement: it keeps files open.

    Args:
        paths: Names of files, or patterns.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A file is no netCDF, is damaged, or is not laid out as ERA5 is.
    """

    def __init__(self, paths: str | Iterable[str]) -> None:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpvae-era5-")))
            found = expand_patterns(paths)
            self.sources = sources_of(found)
            files = [file for path in found for file in unpack(path, folder)]
            self.parts = [part for name, path in files for part in file_parts(open_lazily(path, name, stack), name)]
            self._stack = stack.pop_all()
        self.grid = self.parts[0].grid
        for part in self.parts[1:]:
            if not part.grid.same_as(self.grid):
                self.close()
                raise ValueError(
                    f"The files have different grids: {self.parts[0].name} has {self.grid}; {part.name} has "
                    f"{part.grid}. Give files of one region."
                )

    @property
    def names(self) -> list[str]:
        """The short names of all variables, known ones first, in an order that does not depend on the files."""
        there = {str(name) for part in self.parts for name in part.data.data_vars}
        return [name for name in KNOWN if name in there] + sorted(there.difference(KNOWN))

    def variable(self, name: str) -> Variable:
        """What is known of one of the variables.

        Args:
            name: Its short name.
        """
        attributes = next(part.data[name].attrs for part in self.parts if name in part.data)
        return describe(name, str(attributes.get("long_name", "")), str(attributes.get("units", "")))

    def changing(self) -> list[str]:
        """The short names of the variables that change with time."""
        return [
            name
            for name in self.names
            if not is_static(name) and any("time" in part.data[name].dims for part in self.parts if name in part.data)
        ]

    def times_of(self, variables: Iterable[str] | None = None) -> NDArray[np.datetime64]:
        """Every time that some variable has, in order `[T]`.

        Args:
            variables: Long or short names; all that change with time if not given.
        """
        return all_times(self._parts_with(self._names(variables)))

    def read(
        self,
        variables: Iterable[str] | None = None,
        first: np.datetime64 | None = None,
        before: np.datetime64 | None = None,
        cells: NDArray[np.int64] | None = None,
    ) -> xr.Dataset:
        """Read what is asked for, and nothing else, into memory.

        Args:
            variables: Long or short names; all that change with time if not given.
            first: The first time; the first there is if not given.
            before: The time to stop before; none if not given.
            cells: Numbers of the cells of the grid `[S]`; the whole grid if not given.

        Returns:
            Single precision, over `time` and the dimensions of the grid, or over `time` and `series`.

        Raises:
            ValueError: A variable is missing or has no values, the variables have no time in common, or a file is
                damaged.
        """
        names, times, attributes = self.ask(variables, first, before)
        result = xr.Dataset(coords={"time": times, **self._places(cells)}, attrs=attributes)
        for name in names:
            variable = self.variable(name)
            values = self.values(name, times, cells)
            check_observed([variable], [bool(np.isfinite(values).any())])
            dims = self.grid.dims if cells is None else ("series",)
            result[name] = ("time", *dims), values, {"long_name": variable.name, "units": variable.units}
        return result

    def ask(
        self,
        variables: Iterable[str] | None = None,
        first: np.datetime64 | None = None,
        before: np.datetime64 | None = None,
    ) -> Asked:
        """What there is of variables in a period.

        Args:
            variables: Long or short names; all that change with time if not given.
            first: The first time; the first there is if not given.
            before: The time to stop before; none if not given.

        Raises:
            ValueError: A variable is missing, or there is no time that all variables have, or none in the period.
        """
        names = self._names(variables)
        check_overlap(self.parts, names)
        there = self.times_of(names)
        late = np.ones(len(there), bool) if first is None else there >= first
        times = there[late if before is None else late & (there < before)]
        if not len(times):
            raise ValueError(f"No hour from {first} to before {before} is in the files: they have {span(there)}.")
        return Asked(names, times, merged_attributes(self._parts_with(names)))

    def read_static(self, name: str) -> NDArray[np.float32] | None:
        """A variable that is the same at all times, at every cell `[C]`; None if no file has it.

        Args:
            name: Its short name, such as `lsm`.
        """
        for part in self._parts_with([name]):
            return load(part, part.data[name])[part.grid.around(None)[1]].reshape(-1)
        return None

    def close(self) -> None:
        """Close the files, and remove what was unpacked."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def values(self, name: str, times: NDArray[np.datetime64], cells: NDArray[np.int64] | None) -> NDArray[np.float32]:
        """Read one variable, `[T, S]`, or `[T, ...]` over the grid; NaN where there is nothing.

        Args:
            name: Its short name.
            times: When, in order `[T]`.
            cells: Numbers of the cells of the grid `[S]`; the whole grid if None.
        """
        shape = self.grid.shape if cells is None else (len(cells),)
        values = np.full((len(times), *shape), np.nan, dtype=np.float32)
        for final in (False, True):  # what comes later goes on top
            for part in reversed(self._parts_with([name])):
                stretch, places = part.grid.around(cells)
                index: tuple[slice | NDArray[np.int64], ...] = (slice(None), *places)
                field = part.data[name].isel(dict(stretch))
                chosen = np.flatnonzero(np.isin(part.times, times) & (part.preliminary != final))
                at_once = max(1, MOST_VALUES * part.data.sizes["time"] // max(1, field.size))
                for hours in np.split(chosen, range(at_once, len(chosen), at_once)) if len(chosen) else ():
                    new = load(part, field.isel(time=_run(hours)))[index]
                    rows = np.searchsorted(times, part.times[hours])
                    values[rows] = np.where(np.isnan(new), values[rows], new)
        return values

    def _names(self, variables: Iterable[str] | None) -> list[str]:
        changing = self.changing()
        if not changing:
            raise ValueError(f"No variable in {self.parts[0].name} changes with time: is it the right file?")
        return changing if variables is None else choose(variables, self.names, changing)

    def _parts_with(self, names: list[str]) -> list[FilePart]:
        return [part for part in self.parts if any(name in part.data for name in names)]

    def _places(self, cells: NDArray[np.int64] | None) -> dict[str, tuple[tuple[str, ...], NDArray[np.float64]]]:
        if cells is not None:
            latitude, longitude = self.grid.cells[cells].T
            dims: tuple[tuple[str, ...], ...] = (("series",), ("series",))
        else:
            latitude, longitude = self.grid.latitude, self.grid.longitude
            dims = ((self.grid.dims[0],), (self.grid.dims[-1],))
        return {"latitude": (dims[0], latitude), "longitude": (dims[1], longitude)}


def _run(places: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """A slice where places follow each other, for that is faster to read."""
    follow = len(places) > 0 and bool((np.diff(places) == 1).all())
    return slice(int(places[0]), int(places[-1]) + 1) if follow else places


def sources_of(files: Iterable[Path]) -> tuple[str, ...]:
    """Names, sizes and dates of files: others, where a file has been replaced.

    Args:
        files: The files.
    """

    def source(path: Path) -> str:
        with path.open("rb") as file:  # unopened, a disk in the network may tell of the one before
            status = os.fstat(file.fileno())
        return f"{path} {status.st_size} {status.st_mtime_ns}"

    return tuple(source(path) for path in files)


def read_era5(paths: str | Iterable[str], variables: Iterable[str] | None = None) -> xr.Dataset:
    """Read ERA5 files of any layout as one dataset over `time`, `latitude` and `longitude`.

    Args:
        paths: Names of files, or patterns.
        variables: Long or short names; all that change with time if not given.
    """
    with Archive(paths) as archive:
        return archive.read(variables)
