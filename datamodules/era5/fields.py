"""What a stream is made of: the chosen variables at the chosen cells and hours."""

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
    """Values in the units of files, and where and when they are.

    Args:
        variables: V variables.
        between: Gives the values of all series from one place in the hours to before another, `[S, t, V]`; NaN where
            there are none.
        hours: Hours since the origin, in order `[T]`.
        origin: The time, UTC, from which hours are counted.
        latitude: Degrees north `[S]`.
        longitude: Degrees east `[S]`.
        note: What the files say of themselves, if anything.
        sources: Names, sizes and dates of the files.
    """

    variables: tuple[Variable, ...]
    between: Callable[[int, int], Values]
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
    points: int | None = None,
    locations: Sequence[Sequence[float]] | None = None,
    land_only: bool = False,
    seed: int = 0,
) -> Iterator[Fields]:
    """Look into ERA5 files, and read where asked, while they are open.

    Values over sea of what is meant for land, and the reverse, are NaN.

    Args:
        paths: Names of files, or patterns.
        variables: Long or short names; all that change with time if not given.
        start: The first hour; the first there is if not given.
        num_hours: How many hours, missing ones included.
        points: How many cells to draw at random; all if not given.
        locations: Latitude and longitude of places whose nearest cells are meant, instead of `points`.
        land_only: Whether to take cells on land only.
        seed: Fixes which cells are drawn.
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
        asked = archive.ask(variables, origin, origin + np.timedelta64(num_hours, "h"))
        chosen = tuple(archive.variable(name) for name in asked.names)

        def between(first: int, before: int) -> Values:
            columns = [archive.values(name, asked.times[first:before], cells).T for name in asked.names]
            values = np.stack(columns, axis=-1)
            for number, variable in enumerate(chosen):
                if land is not None and variable.over != "everywhere":
                    values[land[cells] != (variable.over == "land"), :, number] = np.nan
            return values

        hours = (asked.times - origin) / np.timedelta64(1, "h")
        latitude, longitude = archive.grid.cells[cells].T
        note = asked.attributes.get("title", "")
        yield Fields(chosen, between, hours, origin, latitude, longitude, note, archive.sources)
