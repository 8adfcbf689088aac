"""How long each task took: what `task_times.csv` in a run folder holds."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from gpvae.utils.atomic import replacing

FILE_NAME = "task_times.csv"
Activity = Literal["learning", "scoring", "drawing", "saving"]
ACTIVITIES: tuple[Activity, ...] = get_args(Activity)
#: Seconds by task, from 1, and activity.
Seconds = Mapping[tuple[int, Activity], float]


def write_times(seconds: Seconds, path: Path) -> None:
    """Write wall-clock seconds as a csv file, a row for each task and a column for each activity.

    Args:
        seconds: Seconds by task and activity; 0 where there are none.
        path: The file.
    """
    with replacing(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["task", *ACTIVITIES])
        for task in sorted({task for task, _ in seconds}):
            writer.writerow([task, *(f"{seconds.get((task, activity), 0.0):.3f}" for activity in ACTIVITIES)])


def read_times(path: Path) -> dict[tuple[int, Activity], float]:
    """Read what `write_times` wrote.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It has other columns, or values that are not numbers.
    """
    with path.open(newline="", errors="replace") as file:
        reader = csv.reader(file)
        if next(reader, []) != ["task", *ACTIVITIES]:
            raise ValueError(f"{path.name}: expected the columns task,{','.join(ACTIVITIES)}")
        try:
            return {
                (int(task), activity): float(value)
                for task, *values in reader
                for activity, value in zip(ACTIVITIES, values, strict=True)
            }
        except ValueError as error:
            raise ValueError(f"{path.name}, line {reader.line_num}: {error}") from error
