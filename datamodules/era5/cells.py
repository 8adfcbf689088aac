"""The grid cells of a stream: drawn at random, nearest to given locations, or those of an earlier stream."""

from collections.abc import Sequence

import numpy as np
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray

from datamodules.era5.description import Coordinates
from datamodules.era5.files.grid import Grid


def cells_at(grid: Grid, coordinates: Coordinates) -> NDArray[np.int64]:
    """Indices of the grid cells at given coordinates `[S]`.

    Args:
        grid: The grid.
        coordinates: The coordinates.

    Raises:
        ValueError: The grid has no cell at some of them.
    """
    cells = {(north, east): number for number, (north, east) in enumerate(grid.cells.tolist())}
    wanted = list(zip(coordinates.latitude.tolist(), coordinates.longitude.tolist(), strict=True))
    missing = [pair for pair in wanted if pair not in cells]
    if missing:
        north, east = missing[0]
        nearest = grid.cells[_angular_distance(grid.cells, np.array([north, east])).argmin()]
        raise ValueError(
            f"{len(missing)} of {len(wanted)} locations that were learnt are not in the new data, such as ({north:g}, "
            f"{east:g}): the nearest there is ({nearest[0]:g}, {nearest[1]:g}). They have {grid}."
        )
    return np.array([cells[pair] for pair in wanted])


def choose_cells(
    grid: Grid,
    points: int | None = None,
    locations: Sequence[Sequence[float]] | None = None,
    land: NDArray[np.bool_] | None = None,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Indices of the chosen grid cells `[S]`.

    Args:
        grid: The grid.
        points: The number of cells to draw at random, in the order of the grid; all if not given, or if there are
            fewer.
        locations: Latitude and longitude of locations, whose nearest cells are chosen, in this order; takes precedence
            over `points`.
        land: Which cells may be chosen `[C]`; all if not given.
        seed: Fixes which cells are drawn.

    Raises:
        ValueError: There are no cells to choose from, or a location is outside of the grid.
    """
    allowed = np.arange(len(grid.cells)) if land is None else np.flatnonzero(land)
    kind = "grid cells" if land is None else "grid cells on land"
    if not len(allowed):
        raise ValueError(f"There are no {kind} among {grid}: nothing is selected. Choose another region.")
    if locations is not None:
        return _nearest(grid, locations, allowed, kind)
    if points is not None and points > len(allowed):
        rank_zero_info(f"points is {points}, and there are {len(allowed)} {kind} ({grid}): all of them are taken.")
    if points is None or points >= len(allowed):
        return allowed
    return np.sort(np.random.default_rng([seed, 0]).permutation(allowed)[:points])


def check_location(location: Sequence[float]) -> None:
    """Raise unless this is a latitude and a longitude.

    Args:
        location: One of `locations`.
    """
    if len(location) != 2 or not (abs(location[0]) <= 90 and -180 <= location[1] <= 360):
        raise ValueError(f"{location} in `locations` is not a latitude and a longitude in degrees, such as [52, 0].")


def _nearest(
    grid: Grid, locations: Sequence[Sequence[float]], allowed: NDArray[np.int64], kind: str
) -> NDArray[np.int64]:
    if not len(locations):
        raise ValueError("`locations` is empty: give pairs of latitude and longitude, or leave it out.")
    chosen: list[int] = []
    for location in locations:
        check_location(location)
        distances = _angular_distance(grid.cells[allowed], np.array(location, dtype=np.float64))
        nearest = int(distances.argmin())
        if distances[nearest] > _max_distance(grid):
            raise ValueError(
                f"{list(location)} in `locations` is {distances[nearest]:.2f}° away from the nearest of the {kind}: "
                f"the files have {grid}."
            )
        chosen.append(int(allowed[nearest]))
    twice = {cell for cell in chosen if chosen.count(cell) > 1}
    if twice:
        same = [list(location) for location, cell in zip(locations, chosen, strict=True) if cell in twice]
        raise ValueError(f"Of `locations`, these share their nearest grid cell: {same}. Keep one for each cell.")
    return np.array(chosen)


def _angular_distance(cells: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Great-circle distances between latitudes and longitudes `[..., 2]`, as angles in degrees (haversine formula)."""
    there, here = np.radians(cells), np.radians(others)
    half = np.sin((there - here) / 2) ** 2
    return np.degrees(
        2 * np.arcsin(np.sqrt(half[..., 0] + np.cos(there[..., 0]) * np.cos(here[..., 0]) * half[..., 1]))
    )


def _max_distance(grid: Grid) -> float:
    """How far a location may be from the nearest cell: one step of the grid, or 1° if the files have a list of them."""
    if len(grid.dims) == 1:
        return 1.0
    if grid.is_curvilinear:
        cells = grid.cells.reshape(*grid.shape, 2)
        steps = [_angular_distance(cells[1:], cells[:-1]), _angular_distance(cells[:, 1:], cells[:, :-1])]
    else:
        steps = [np.diff(np.sort(axis)) for axis in (grid.latitude, grid.longitude)]
    return float(max((step.max() for step in steps if step.size), default=1.0))
