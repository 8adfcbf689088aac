"""Coastlines within an extent, for maps.

`coastlines.txt` holds the outlines of Natural Earth, which are in the public domain; its first lines say how they were
simplified.
"""

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

#: Degrees of a turn: maps may count longitudes from 0 to 360 or from -180 to 180.
TURN = 360.0


def coastlines(west: float, east: float, south: float, north: float) -> NDArray[np.float64]:
    """Points `[P, 2]` (longitude, latitude) of all coast within an extent; NaN separates pieces. Empty without coast.

    Args:
        west: Lowest longitude.
        east: Highest longitude.
        south: Lowest latitude.
        north: Highest latitude.
    """
    pieces = []
    for turn in (-TURN, 0.0, TURN):
        points = _world() + np.array([turn, 0.0])
        low, high = np.minimum(points[:-1], points[1:]), np.maximum(points[:-1], points[1:])
        inside = ((high >= [west, south]) & (low <= [east, north])).all(axis=1)  # False where a piece ends, by NaN
        kept = np.append(inside, False) | np.append(False, inside)
        gaps = kept & ~np.append(inside, False)  # the last point of a run of segments
        pieces.append(np.insert(points, np.flatnonzero(gaps) + 1, np.nan, axis=0)[_with_gaps(kept, gaps)])
    return np.concatenate(pieces)


def _with_gaps(kept: NDArray[np.bool_], gaps: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What is kept once gaps have been inserted."""
    return np.insert(kept, np.flatnonzero(gaps) + 1, True)


@cache
def _world() -> NDArray[np.float64]:
    """All coast `[P, 2]`; NaN separates lines."""
    lines = []
    for line in files("gpvae.report").joinpath("coastlines.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        steps = np.array([point.split(",") for point in line.split()], dtype=np.float64)
        lines += [steps.cumsum(axis=0) / 100, np.full((1, 2), np.nan)]
    return np.concatenate(lines)
