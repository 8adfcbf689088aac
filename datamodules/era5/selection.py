"""Which cells of a grid become series: some at random, those nearest to given places, or all."""

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
    """Numbers of the chosen cells `[S]`.

    Args:
        grid: The cells there are.
        points: How many to draw at random; they come in the order of the grid. All if not given.
        locations: Latitude and longitude of places, whose nearest cells are meant, in this order; goes before
            `points`.
        land: Which cells may be chosen `[C]`; all if not given.
        seed: Fixes what is drawn.

    Raises:
        ValueError: There are not enough cells, or a place is outside of the grid.
    """
    allowed = np.arange(len(grid.cells)) if land is None else np.flatnonzero(land)
    kind = "cells" if land is None else "cells on land"
    if not len(allowed):
        raise ValueError(f"There are no {kind} among {grid}: nothing is selected. Choose another region.")
    if locations is not None:
        return _nearest(grid, locations, allowed, kind)
    if points is None:
        return allowed
    if not 1 <= points <= len(allowed):
        raise ValueError(
            f"points is {points}, and there are {len(allowed)} {kind} to choose from ({grid}): give a number from 1 "
            f"to {len(allowed)}, or none for all of them."
        )
    return np.sort(np.random.default_rng([seed, 0]).permutation(allowed)[:points])


def _nearest(
    grid: Grid, locations: Sequence[Sequence[float]], allowed: NDArray[np.int64], kind: str
) -> NDArray[np.int64]:
    if not len(locations):
        raise ValueError("`locations` is empty: give pairs of latitude and longitude, or none at all.")
    chosen: list[int] = []
    for location in locations:
        if len(location) != 2 or not (abs(location[0]) <= 90 and -180 <= location[1] <= 360):
            raise ValueError(
                f"{location} in `locations` is not a latitude and a longitude in degrees, such as [52, 0]."
            )
        apart = _degrees_apart(grid.cells[allowed], location[0], location[1])
        nearest = int(apart.argmin())
        if apart[nearest] > _reach(grid):
            raise ValueError(
                f"{list(location)} in `locations` is {apart[nearest]:.2f}° away from the nearest of the {kind}: the "
                f"files have {grid}."
            )
        chosen.append(int(allowed[nearest]))
    twice = {cell for cell in chosen if chosen.count(cell) > 1}
    if twice:
        same = [list(place) for place, cell in zip(locations, chosen, strict=True) if cell in twice]
        raise ValueError(f"Of `locations`, these have a nearest cell in common: {same}. Keep one for each cell.")
    return np.array(chosen)


def _degrees_apart(cells: NDArray[np.float64], latitude: float, longitude: float) -> NDArray[np.float64]:
    """Great-circle distance, as an angle in degrees (haversine formula) `[C]`."""
    there, here = np.radians(cells), np.radians([latitude, longitude])
    half = np.sin((there - here) / 2) ** 2
    return np.degrees(2 * np.arcsin(np.sqrt(half[:, 0] + np.cos(there[:, 0]) * np.cos(here[0]) * half[:, 1])))


def _reach(grid: Grid) -> float:
    """How far a place may be from the nearest cell: one step of the grid, and 1° among scattered locations."""
    if len(grid.dims) == 1:
        return 1.0
    steps = [np.diff(np.sort(axis)).max() for axis in (grid.latitude, grid.longitude) if len(axis) > 1]
    return float(max(steps, default=1.0))
