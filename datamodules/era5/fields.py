"""The data of a stream in the units of files: the chosen variables, locations and hours."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamodules.era5.files.archive import Archive
from datamodules.era5.selection import choose_cells
from datamodules.era5.variables import Variable

Values = NDArray[np.float32]


@dataclass(frozen=True)
class Fields:
    """Values in the units of files, with their coordinates.

    Args:
        variables: V variables.
        read: Reads the values of all series from one index into `hours` to before another, `[S, t, V]`; NaN where they
            are missing.
        hours: Hours since the origin, in order `[T]`.
        origin: The time, UTC, from which hours are counted.
        latitude: Degrees north `[S]`.
        longitude: Degrees east `[S]`.
        note: The title of the files, if they have one.
        sources: Names, sizes and dates of the files.
    """

    variables: tuple[Variable, ...]
    read: Callable[[int, int], Values]
    hours: NDArray[np.float64]
    origin: np.datetime64
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    note: str = ""
    sources: tuple[str, ...] = ()


@contextmanager
def open_fields(
    paths: Sequence[str] | str,
    variables: Sequence[str] | None,
    start: np.datetime64 | None,
    num_hours: int,
    *,
    points: int | None = None,
    locations: Sequence[Sequence[float]] | None = None,
    land_only: bool = False,
    seed: int = 0,
) -> Iterator[Fields]:
    """Open ERA5 files; values are read on demand, as long as they are open.

    Variables that are defined over land only are NaN over sea, and the reverse.

    Args:
        paths: Names of files, or patterns.
        variables: Long or short names; all that change with time if not given.
        start: The first hour; that of the files if not given.
        num_hours: The number of hours, including missing ones.
        points: The number of locations to draw at random from the grid; all if not given.
        locations: Latitude and longitude of locations, whose nearest grid cells are taken; instead of `points`.
        land_only: Whether to take locations on land only.
        seed: Fixes which locations are drawn.
    """
    with Archive(paths) as archive:
        mask = archive.read_static("lsm")
        if land_only and mask is None:
            raise ValueError(
                "land_only needs the land-sea mask, and the files have no lsm: add a file with it (one hour will do), "
                "set land_only to false, or give locations."
            )
        land = None if mask is None else mask >= 0.5
        cells = choose_cells(archive.grid, points, locations, land if land_only else None, seed)
        origin = archive.times_of(variables)[0] if start is None else start.astype("datetime64[ns]")
        selection = archive.select(variables, origin, origin + np.timedelta64(num_hours, "h"))
        chosen = tuple(archive.variable(name) for name in selection.names)

        def read(first: int, before: int) -> Values:
            times = selection.times[first:before]
            columns = [archive.values(name, times, cells).T for name in selection.names]
            values = np.stack(columns, axis=-1)
            for number, variable in enumerate(chosen):
                if land is not None and variable.over != "everywhere":
                    values[land[cells] != (variable.over == "land"), :, number] = np.nan
            return values

        hours = (selection.times - origin) / np.timedelta64(1, "h")
        latitude, longitude = archive.grid.cells[cells].T
        note = selection.attributes.get("title", "")
        yield Fields(chosen, read, hours, origin, latitude, longitude, note, archive.sources)
