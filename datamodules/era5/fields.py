"""The data of a stream in the units of files, at the chosen variables, locations and hours."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.cells import cells_at, choose_cells
from datamodules.era5.description import Coordinates, SeriesDescription
from datamodules.era5.files.archive import Archive
from datamodules.era5.files.file_part import file_with
from datamodules.era5.variables import Variable
from gpvae.utils.longitudes import contiguous

Values = NDArray[np.float32]
STANDARD_GRAVITY = 9.80665  # m s-2


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
        file_coordinates: Latitude and longitude of each series exactly as in the files `[S]`; `latitude` and
            `longitude` if not given.
        file_hours: All times of the files as hours since the origin, in order `[F]`; `hours` if not given.
        land: Which series are on land `[S]`; None if the files have no land-sea mask.
        fills: Numbers in the units of each variable that may mark missing values.
        file_of: The name of the file with a variable at an hour, both by index; empty if there is none.
        preliminary: Which hours from one index to before another, read before, are preliminary (ERA5T) `[t]`.
        statics: What the files say of each series beside its values `[S]`: `height` of the surface in metres, from its
            geopotential z, and `land`, the share of land, from lsm.
        held_out: Which series are held out for test `[S]`: none of their values are learnt. None if all are.
    """

    variables: tuple[Variable, ...]
    read: Callable[[int, int], Values]
    hours: NDArray[np.float64]
    origin: np.datetime64
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    note: str = ""
    sources: tuple[str, ...] = ()
    file_coordinates: tuple[NDArray[np.generic], NDArray[np.generic]] | None = None
    file_hours: NDArray[np.float64] | None = None
    land: NDArray[np.bool_] | None = None
    fills: tuple[Values, ...] = ()
    file_of: Callable[[int, int], str] = lambda variable, hour: ""
    preliminary: Callable[[int, int], NDArray[np.bool_]] = lambda first, before: np.zeros(before - first, bool)
    statics: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    held_out: NDArray[np.bool_] | None = None

    @property
    def coordinates(self) -> Coordinates:
        """The locations of the series, and the time of hour 0."""
        return Coordinates(self.latitude, self.longitude, self.origin)

    @property
    def exact_coordinates(self) -> Coordinates:
        """As `coordinates`, with latitudes and longitudes exactly as in the files."""
        return Coordinates(*(self.file_coordinates or self.coordinates[:2]), self.origin)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Latitude, longitude and, if it is known, height of each series `[S, P]`."""
        height = [self.statics["height"]] if "height" in self.statics else []
        return np.stack([self.latitude, contiguous(self.longitude), *height], axis=-1)

    @property
    def step(self) -> float:
        """The hours from one time of the files to the next, as a median; 1 if there is only one time."""
        hours = self.hours if self.file_hours is None else self.file_hours
        return float(np.median(np.diff(hours))) if len(hours) > 1 else 1.0


@contextmanager
def open_fields(
    paths: Sequence[str] | str | xr.Dataset,
    variables: Sequence[str] | None,
    start: np.datetime64 | None,
    num_hours: int | None,
    *,
    end: np.datetime64 | None = None,
    points: int | None = None,
    locations: Sequence[Sequence[float]] | None = None,
    land_only: bool = False,
    seed: int = 0,
    digest: bool = False,
    like: SeriesDescription | None = None,
) -> Iterator[Fields]:
    """Open ERA5 files or a dataset; values are read on demand, as long as they are open.

    Variables that are defined over land only are NaN over sea, and the reverse.

    Args:
        paths: Names of files, or patterns; or a dataset of xarray.
        variables: Long or short names; all that change with time if not given.
        start: The first hour; that of the files if not given.
        num_hours: The number of hours, including missing ones; all if not given.
        end: The end of the stream, exclusive; that of the files if not given.
        points: The number of locations to draw at random from the grid; all if not given, or if there are fewer.
        locations: Latitude and longitude of locations, whose nearest grid cells are taken; instead of `points`.
        land_only: Whether to take locations on land only.
        seed: Fixes which locations are drawn.
        digest: Whether a digest of the values is part of the sources, which takes reading all of them: for a dataset,
            which has no files to tell it from others.
        like: A stream whose variables, units, locations and first hour are taken, in place of what is given here.
    """
    if like is not None:
        variables, start = [variable.short_name for variable in like.variables], like.coordinates.origin
        locations = np.stack(like.coordinates[:2], axis=-1).tolist()
    only = locations[0] if locations is not None and len(locations) == 1 and len(locations[0]) == 2 else None
    with Archive(paths, location=only) as archive:
        mask = archive.read_static("lsm")
        if land_only and mask is None:
            raise ValueError(
                "land_only needs the land-sea mask, and the files have no lsm: add a file with it (one hour will do), "
                "set land_only to false, or give locations."
            )
        land = None if mask is None else mask >= 0.5
        if like is None:
            cells = choose_cells(archive.grid, points, locations, land if land_only else None, seed)
        else:
            cells = cells_at(archive.grid, like.coordinates)
        on_land = None if land is None else land[cells]
        if like is not None and like.land is not None:
            on_land = like.land
        all_times = archive.times_of(variables)
        origin = all_times[0] if start is None else start.astype("datetime64[ns]")
        ends = [] if num_hours is None else [origin + np.timedelta64(num_hours, "h")]
        ends += [] if end is None else [end.astype("datetime64[ns]")]
        selection = archive.select(variables, origin, min(ends, default=None))
        chosen = tuple(archive.variable(name) for name in selection.names) if like is None else like.scaling.variables

        def read(first: int, before: int) -> Values:
            times = selection.times[first:before]
            columns = [archive.values(v.short_name, times, cells, v.units).T for v in chosen]
            values = np.stack(columns, axis=-1)
            for number, variable in enumerate(chosen):
                if on_land is not None and variable.over != "everywhere":
                    values[on_land != (variable.over == "land"), :, number] = np.nan
            return values

        hours, file_hours = ((times - origin) / np.timedelta64(1, "h") for times in (selection.times, all_times))
        latitude, longitude = archive.grid.cells[cells].T
        note = selection.attributes.get("title", "")
        own = archive.grid.file_coordinates(cells)
        sources = (*archive.sources, _digest(read, len(hours))) if digest else archive.sources
        yield Fields(
            variables=chosen,
            read=read,
            hours=hours,
            origin=origin,
            latitude=latitude,
            longitude=longitude,
            note=note,
            sources=sources,
            file_coordinates=own,
            file_hours=file_hours,
            land=on_land,
            statics=_statics(archive, cells, mask),
            fills=tuple(archive.fills(variable.short_name, variable.units) for variable in chosen),
            file_of=lambda variable, hour: file_with(archive.parts, chosen[variable].short_name, selection.times[hour]),
            preliminary=lambda first, before: archive.is_preliminary(selection.times[first:before]),
        )


def _statics(
    archive: Archive, cells: NDArray[np.int64], mask: NDArray[np.float32] | None
) -> dict[str, NDArray[np.float64]]:
    """Height and share of land of cells, as far as the files have them."""
    geopotential = archive.read_static("z")
    found = {"height": None if geopotential is None else geopotential / STANDARD_GRAVITY, "land": mask}
    return {name: values[cells].astype(np.float64) for name, values in found.items() if values is not None}


def _digest(read: Callable[[int, int], Values], num_hours: int, at_once: int = 1024) -> str:
    digest = hashlib.sha256()
    for first in range(0, num_hours, at_once):
        digest.update(read(first, min(first + at_once, num_hours)).tobytes())
    return digest.hexdigest()
