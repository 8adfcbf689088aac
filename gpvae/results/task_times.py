"""How long each task took: what `task_times.csv` in a run folder holds."""

import csv
import math
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


def read_times(path: Path, num_tasks: int | None = None) -> dict[tuple[int, Activity], float]:
    """Read what `write_times` wrote.

    Args:
        path: The file.
        num_tasks: How many tasks it should have, if that is known.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: Columns, tasks or seconds are not as expected.
    """
    with path.open(newline="", errors="replace") as file:
        reader = csv.reader(file)
        if next(reader, []) != ["task", *ACTIVITIES]:
            raise ValueError(f"{path.name}: expected the columns task,{','.join(ACTIVITIES)}")
        try:
            times = {
                (int(task), activity): _parse_seconds(value)
                for task, *values in reader
                for activity, value in zip(ACTIVITIES, values, strict=True)
            }
        except ValueError as error:
            raise ValueError(f"{path.name}, line {reader.line_num}: {error}") from error
    tasks = sorted({task for task, _ in times})
    if num_tasks is not None and tasks != list(range(1, num_tasks + 1)):
        raise ValueError(
            f"{path.name}: expected the tasks 1 to {num_tasks}; got {', '.join(map(str, tasks)) or 'none'}"
        )
    return times


def _parse_seconds(text: str) -> float:
    seconds = float(text)
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"expected seconds, at least 0; got {text}")
    return seconds
