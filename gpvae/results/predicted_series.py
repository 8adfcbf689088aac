"""Predictions of a few series beside their observations, over the whole stream, as a file in the folder of a run.

The report draws them. It reads the file alone: it needs neither the data nor the checkpoint.
"""

import csv
import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpvae.utils.atomic import replacing

FILE_NAME = "predicted_series.csv.gz"
COLUMNS = (
    *("variable", "units", "latitude", "longitude", "task", "input"),
    *("observed", "held_out", "mean", "lower", "upper"),
)
#: Columns that are the same in all rows of a series.
NUM_SHARED = 4

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PredictedSeries:
    """A variable at a location, or the target of a stream of points: one row for each observation, in order of inputs.

    Args:
        variable: Its name.
        units: Its units, as in the data; may be empty.
        location: Latitude and longitude in degrees; None for streams of points.
        task: The number of the task of each row, from 1 `[N]`.
        input: Dates, or numbers `[N]`.
        observed: Observations; NaN where there is none `[N]`.
        held_out: Which observations were held out from learning `[N]`.
        mean: Predictive mean `[N]`.
        lower: The 5 % quantile of the prediction `[N]`.
        upper: The 95 % quantile of the prediction `[N]`.
    """

    variable: str
    units: str
    location: tuple[float, float] | None
    task: NDArray[np.int64]
    input: NDArray[Any]
    observed: Floats
    held_out: NDArray[np.bool_]
    mean: Floats
    lower: Floats
    upper: Floats

    def rows(self) -> list[list[Any]]:
        """The rows of the file."""
        shared = [self.variable, self.units, *(self.location or ("", ""))]
        dates = self.input.dtype.kind == "M"
        inputs = np.datetime_as_string(self.input, unit="s") if dates else [f"{value:.10g}" for value in self.input]
        values = zip(self.observed, self.held_out.astype(int), self.mean, self.lower, self.upper, strict=True)
        return [
            [*shared, task, x, *("" if np.isnan(value) else f"{value:.6g}" for value in numbers)]
            for task, x, numbers in zip(self.task, inputs, values, strict=True)
        ]


def write_series(series: Sequence[PredictedSeries], path: Path) -> None:
    """Write some series to a compressed file, which is the same for the same series.

    Args:
        series: The series.
        path: The file.
    """
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in series:
        writer.writerows(one.rows())
    with replacing(path) as unfinished:
        unfinished.write_bytes(gzip.compress(table.getvalue().encode(), mtime=0))


def read_series(path: Path) -> list[PredictedSeries]:
    """Read series; none if there is no such file, or it is not valid.

    Args:
        path: The file.
    """
    try:
        with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            if tuple(next(lines)) != COLUMNS:
                return []
            return [_parse(shared, list(rows)) for shared, rows in groupby(lines, lambda row: row[:NUM_SHARED])]
    except (OSError, EOFError, ValueError, StopIteration, csv.Error):
        return []


def _parse(shared: Sequence[str], rows: Sequence[Sequence[str]]) -> PredictedSeries:
    variable, units, *location = shared
    task, inputs, *columns = zip(*(row[NUM_SHARED:] for row in rows), strict=True)
    observed, held_out, mean, lower, upper = (np.array([float(text or "nan") for text in column]) for column in columns)
    place = (float(location[0]), float(location[1])) if all(location) else None
    x = np.array(inputs, dtype="datetime64[s]" if "T" in inputs[0] else np.float64)
    if not (x[:-1] <= x[1:]).all():  # NaN and NaT compare as false
        raise ValueError("inputs are not in order")
    number = np.array(task, dtype=np.int64)
    return PredictedSeries(variable, units, place, number, x, observed, held_out > 0, mean, lower, upper)
