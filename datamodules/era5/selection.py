"""Which grid cells become series: some at random, those nearest to given locations, or all."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datamodules.era5.files.grid import Grid


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
        points: The number of cells to draw at random, in the order of the grid; all if not given.
        locations: Latitude and longitude of locations, whose nearest cells are chosen, in this order; takes precedence
            over `points`.
        land: Which cells may be chosen `[C]`; all if not given.
        seed: Fixes which cells are drawn.

    Raises:
        ValueError: There are not enough cells, or a location is outside of the grid.
    """
    allowed = np.arange(len(grid.cells)) if land is None else np.flatnonzero(land)
    kind = "grid cells" if land is None else "grid cells on land"
    if not len(allowed):
        raise ValueError(f"There are no {kind} among {grid}: nothing is selected. Choose another region.")
    if locations is not None:
        return _nearest(grid, locations, allowed, kind)
    if points is None:
        return allowed
    if not 1 <= points <= len(allowed):
        raise ValueError(
            f"points is {points}, and there are {len(allowed)} {kind} to choose from ({grid}): give a number from 1 "
            f"to {len(allowed)}, or null for all of them."
        )
    return np.sort(np.random.default_rng([seed, 0]).permutation(allowed)[:points])


def _nearest(
    grid: Grid, locations: Sequence[Sequence[float]], allowed: NDArray[np.int64], kind: str
) -> NDArray[np.int64]:
    if not len(locations):
        raise ValueError("`locations` is empty: give pairs of latitude and longitude, or leave it out.")
    chosen: list[int] = []
    for location in locations:
        if len(location) != 2 or not (abs(location[0]) <= 90 and -180 <= location[1] <= 360):
            raise ValueError(
                f"{location} in `locations` is not a latitude and a longitude in degrees, such as [52, 0]."
            )
        distances = _angular_distance(grid.cells[allowed], location[0], location[1])
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


def _angular_distance(cells: NDArray[np.float64], latitude: float, longitude: float) -> NDArray[np.float64]:
    """Great-circle distance, as an angle in degrees (haversine formula) `[C]`."""
    there, here = np.radians(cells), np.radians([latitude, longitude])
    half = np.sin((there - here) / 2) ** 2
    return np.degrees(2 * np.arcsin(np.sqrt(half[:, 0] + np.cos(there[:, 0]) * np.cos(here[0]) * half[:, 1])))


def _max_distance(grid: Grid) -> float:
    """How far a location may be from the nearest cell: one step of the grid, or 1° if the files have a list of them."""
    if len(grid.dims) == 1:
        return 1.0
    steps = [np.diff(np.sort(axis)).max() for axis in (grid.latitude, grid.longitude) if len(axis) > 1]
    return float(max(steps, default=1.0))
