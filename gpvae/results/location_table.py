"""Scores of every location that a run has learnt, as a file in its folder.

Those of locations held out from learning are in `location_metrics.csv`, see `callbacks.LocationScores`.
"""

import csv
import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gpvae.utils.atomic import replacing

FILE_NAME = "skill_by_location.csv"


class LocationScore(NamedTuple):
    """How well a location is predicted after the last task, over the held-out hours of all tasks and all variables.

    Attributes:
        location: Number of the location, from 0.
        latitude: Degrees north.
        longitude: Degrees east.
        num_values: Number of held-out values.
        rmse: Root mean squared error of standardised values.
        skill_climatology: 1 - MSE / MSE of climatology.
    """

    location: int
    latitude: float
    longitude: float
    num_values: int
    rmse: float
    skill_climatology: float


def write_locations(scores: Iterable[LocationScore], path: Path) -> None:
    """Write the scores of all locations."""
    with replacing(path) as unfinished, unfinished.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(LocationScore._fields)
        writer.writerows(scores)


def read_locations(path: Path) -> list[LocationScore]:
    """Read the scores of all locations; none if there is no such file, or it is not valid."""
    try:
        with path.open(newline="") as file:
            rows = [[row[name] for name in LocationScore._fields] for row in csv.DictReader(file)]
        scores = [LocationScore(int(n), float(a), float(o), int(k), float(r), float(s)) for n, a, o, k, r, s in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [score for score in scores if all(map(math.isfinite, score[1:]))]
