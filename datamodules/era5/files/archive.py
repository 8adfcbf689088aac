"""Any number of ERA5 files as one dataset: opened together, and read only where needed."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.files.containers import expand_patterns, file_versions, temporary_folder, unpack
from datamodules.era5.files.file_part import (
    FilePart,
    Selection,
    all_times,
    check_overlap,
    convert,
    load,
    merged_attributes,
    possible_fills,
    span,
    step_of,
)
from datamodules.era5.files.formats import open_file
from datamodules.era5.files.layouts import file_parts, join_parts
from datamodules.era5.files.sizes import check_selection
from datamodules.era5.variables import KNOWN, LEVEL, Variable, check_observed, choose, describe, is_static
from gpvae.utils.memory import free_memory

MAX_VALUES = 2**26  # read at once: half a gigabyte while they are unpacked
BYTES_READ = 64  # free for each value that is read at once


class Archive:
    """ERA5 files of any layout, as one dataset.

    Files may differ in time (a month each), in variables (a step type each), in layout, in units and in which data are
    final. Where an hour is in several files, final values take precedence over preliminary ones, and otherwise those of
    the first file. Values are in the units of the first file that states them; those of other files are converted.
    Hours that no file has are absent; hours that only some variables have are NaN in the others. Files of single
    locations, or of lists of them, may differ in these too: hours that only some locations have are NaN in the others.

    Use it in a `with` statement: it keeps files open.

    Args:
        paths: Names of files, patterns, or URLs of Zarr stores; or a dataset of xarray, which stays open.
        location: Latitude and longitude of files that state none.
        max_values: The maximum number of values to read at once.

    Raises:
        FileNotFoundError: A name or pattern matches no file.
        ValueError: A file is of an unknown format, is damaged, or has no times and locations.
    """

    def __init__(
        self,
        paths: str | Iterable[str] | xr.Dataset,
        *,
        location: Sequence[float] | None = None,
        max_values: int = MAX_VALUES,
    ) -> None:
        self.max_values = int(min(max_values, free_memory() / BYTES_READ))
        self._preliminary = np.empty(0, "datetime64[ns]")  # times of such values that were read
        with ExitStack() as stack:
            if isinstance(paths, xr.Dataset):
                self.sources: tuple[str, ...] = ()
                data = [("the dataset", paths)]
            else:
                folder = stack.enter_context(temporary_folder())
                found = expand_patterns(paths)
                self.sources = file_versions(found)
                files = [file for path in found for file in unpack(path, folder)]
                data = [(name, one) for name, path in files for one in open_file(path, name, stack)]
            self.parts = [part for name, one in data for part in file_parts(one, name, location)]
            self._stack = stack.pop_all()
        self.grid = self.parts[0].grid
        different = next((part for part in self.parts if not part.grid.same_as(self.grid)), None)
        if different is not None:
            joined = join_parts(self.parts)
            if joined is None:
                self.close()
                raise ValueError(
                    f"The files have different grids: {self.parts[0].name} has {self.grid}; {different.name} has "
                    f"{different.grid}. Give files of one region."
                )
            self.parts, self.grid = joined, joined[0].grid

    @property
    def names(self) -> list[str]:
        """The short names of all variables, known ones first, in an order that does not depend on the files."""
        found = {str(name) for part in self.parts for name in part.data.data_vars}
        return [name for name in KNOWN if name in found] + sorted(found.difference(KNOWN))

    def variable(self, name: str) -> Variable:
        """The description of one of the variables.

        Args:
            name: Its short name.
        """
        parts = self._parts_with([name])
        first = next((part for part in parts if part.units(name)), parts[0])
        attributes = {key: str(first.data[name].attrs.get(key, "")) for key in ("long_name", "standard_name")}
        return describe(name, units=first.units(name), period=self._period(first), **attributes)

    def _period(self, part: FilePart) -> float:
        """The hours from one time to the next, over which sums and means are taken; those of all files if one has 1."""
        return part.step or step_of(all_times(self.parts)) or 1.0

    def _load(self, part: FilePart, field: xr.DataArray, units: str) -> NDArray[np.float32]:
        """Values in some units, converted if a file has others."""
        name = str(field.name)
        return convert(part, name, load(part, field), units, self._period(part))

    def changing(self) -> list[str]:
        """The short names of the variables that change with time."""
        return [
            name
            for name in self.names
            if not is_static(name) and any("time" in part.data[name].dims for part in self.parts if name in part.data)
        ]

    def times_of(self, variables: Iterable[str] | None = None) -> NDArray[np.datetime64]:
        """Every time at which some variable is present, in order `[T]`.

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
        """Read some variables, times and grid cells into memory.

        Args:
            variables: Long or short names; all that change with time if not given.
            first: The first time; that of the files if not given.
            before: The end of the period, exclusive; that of the files if not given.
            cells: Indices of grid cells `[S]`; the whole grid if not given.

        Returns:
            Single precision, over `time` and the dimensions of the grid, or over `time` and `series`.

        Raises:
            ValueError: A variable is missing or has no values, the variables have no time in common, or a file is
                damaged.
        """
        names, times, attributes = self.select(variables, first, before)
        num_cells = len(self.grid.cells) if cells is None else len(cells)
        check_selection(num_cells, len(times), len(names), 8, "choose fewer variables, times or cells")
        result = xr.Dataset(coords={"time": times, **self.grid.coordinates(cells)}, attrs=attributes)
        for name in names:
            variable = self.variable(name)
            values = self.values(name, times, cells)
            check_observed([variable], [bool(np.isfinite(values).any())])
            dims = self.grid.dims if cells is None else ("series",)
            result[name] = ("time", *dims), values, {"long_name": variable.name, "units": variable.units}
        return result

    def select(
        self,
        variables: Iterable[str] | None = None,
        first: np.datetime64 | None = None,
        before: np.datetime64 | None = None,
    ) -> Selection:
        """The variables, and the times within a period at which some of them are present.

        Args:
            variables: Long or short names; all that change with time if not given.
            first: The first time; that of the files if not given.
            before: The end of the period, exclusive; that of the files if not given.

        Raises:
            ValueError: A variable is missing, the variables have no time in common, or the period has no times.
        """
        names = self._names(variables)
        check_overlap(self.parts, names)
        all_hours = self.times_of(names)
        late = np.ones(len(all_hours), bool) if first is None else all_hours >= first
        times = all_hours[late if before is None else late & (all_hours < before)]
        if not len(times):
            raise ValueError(f"No hour from {first} to before {before} is in the files: they have {span(all_hours)}.")
        return Selection(names, times, merged_attributes(self._parts_with(names)))

    def read_static(self, name: str) -> NDArray[np.float32] | None:
        """A variable that is constant in time, at every grid cell `[C]`; None if the files do not have it everywhere.

        It is in the units of ERA5, if ERA5 has it.

        Args:
            name: Its short name, such as `lsm`.
        """
        values = np.empty(len(self.grid.cells), dtype=np.float32)
        missing = np.ones(len(values), bool)
        units = KNOWN[name].units if name in KNOWN else ""
        for part in self._parts_with([name]):
            new = np.flatnonzero(missing & part.grid.present)
            if len(new):
                window, positions = part.grid.window(new)
                values[new] = self._load(part, part.data[name].isel(dict(window)), units)[positions]
                missing[new] = False
        return None if missing.any() else values

    def fills(self, name: str, units: str) -> NDArray[np.float32]:
        """Numbers that may mark missing values of a variable, though its files do not say so.

        Args:
            name: Its short name.
            units: The units of the numbers.
        """
        converted = [
            convert(part, name, possible_fills(part, name), units, self._period(part))
            for part in self._parts_with([name])
        ]
        return np.unique(np.concatenate(converted))

    def is_preliminary(self, times: NDArray[np.datetime64]) -> NDArray[np.bool_]:
        """Which times have preliminary values (ERA5T), of those that were read `[T]`.

        Args:
            times: Times `[T]`.
        """
        return np.isin(times, self._preliminary)

    def close(self) -> None:
        """Close the files, and remove those that were unpacked."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def values(
        self, name: str, times: NDArray[np.datetime64], cells: NDArray[np.int64] | None, units: str = ""
    ) -> NDArray[np.float32]:
        """Read one variable, `[T, S]`, or `[T, ...]` over the grid; NaN where it is missing.

        Args:
            name: Its short name.
            times: Times, in order `[T]`.
            cells: Indices of grid cells `[S]`; the whole grid if None.
            units: The units to read it in; those of the first file that states them if not given.
        """
        shape = self.grid.shape if cells is None else (len(cells),)
        preliminary = np.zeros(len(times), bool)
        values, units = np.full((len(times), *shape), np.nan, dtype=np.float32), units or self.variable(name).units
        for final in (False, True):  # later assignments take precedence
            for part in reversed(self._parts_with([name])):
                present = part.grid.present if cells is None else part.grid.present[cells]
                if not present.any():
                    continue
                whole = bool(present.all())
                some = np.flatnonzero(present) if cells is None else cells[present]
                window, positions = part.grid.window(cells if whole else some)
                index: tuple[slice | NDArray[np.int64], ...] = (slice(None), *positions)
                field = part.data[name].isel(dict(window))
                chosen = np.flatnonzero(np.isin(part.times, times) & (part.preliminary != final))
                at_once = max(1, self.max_values * part.data.sizes["time"] // max(1, field.size))
                for hours in np.split(chosen, range(at_once, len(chosen), at_once)) if len(chosen) else ():
                    new = self._load(part, field.isel(time=_as_slice(hours)), units)[index]
                    rows = np.searchsorted(times, part.times[hours])
                    place = rows if whole else np.ix_(rows, np.flatnonzero(present))
                    values[place] = np.where(np.isnan(new), values[place], new)
                    preliminary[rows] = not final or preliminary[rows] & np.isnan(new).reshape(len(new), -1).all(axis=1)
        self._preliminary = np.union1d(self._preliminary, times[preliminary])
        return values

    def _names(self, variables: Iterable[str] | None) -> list[str]:
        changing = self.changing()
        if not changing:
            raise ValueError(f"No variable in {self.parts[0].name} changes with time: is it the right file?")
        if variables is not None:
            return choose(variables, self.names, changing)
        return [name for name in changing if LEVEL not in name] or changing  # levels by name

    def _parts_with(self, names: list[str]) -> list[FilePart]:
        return [part for part in self.parts if any(name in part.data for name in names)]


def _as_slice(indices: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """Consecutive indices as a slice, which is faster to read; others as they are."""
    consecutive = len(indices) > 0 and bool((np.diff(indices) == 1).all())
    return slice(int(indices[0]), int(indices[-1]) + 1) if consecutive else indices
