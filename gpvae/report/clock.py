"""How long each task took, from the times at which a run wrote to its TensorBoard log.

Nothing else in the folder of a run knows: it keeps no clock of its own, and the times of files do not survive a copy.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event  # type: ignore[import-untyped]

EVENTS = "events.out.tfevents.*"
SEEN = "/seen"
#: No event is this large.
MOST_BYTES = 1 << 30
#: What the seconds of a task are, for people.
MEASURED = (
    "Wall-clock seconds, from the times in each run’s TensorBoard log: from the last entry after the task before (for "
    "the first task, from when the log was opened) to the scores after the task. They hold learning, evaluation on all "
    "tasks so far and writing a checkpoint; drawing figures, which follows the scores, is not counted. The first task "
    "may include finding the kernel’s hyperparameters. Times of different machines do not compare."
)


def read_times(
    num_tasks: Mapping[Path, int], step: Callable[[], object] = lambda: None
) -> tuple[dict[Path, list[float]], dict[Path, str]]:
    """Seconds that each task took in each run, and why that is not known of others.

    Args:
        num_tasks: How many tasks each run learnt, by its folder.
        step: Called after each of them.
    """
    times: dict[Path, list[float]] = {}
    reasons: dict[Path, str] = {}
    for folder, count in num_tasks.items():
        try:
            times[folder] = task_seconds(folder, count)
        except ValueError as error:
            reasons[folder] = str(error)
        step()
    return times, reasons


def task_seconds(folder: Path, num_tasks: int) -> list[float]:
    """Seconds that each task took.

    Args:
        folder: The folder of a run.
        num_tasks: How many tasks it learnt.

    Raises:
        ValueError: The folder does not tell, and why.
    """
    files = sorted(folder.glob(EVENTS))
    if len(files) != 1:
        raise ValueError("resumed, so the log has gaps" if files else "no TensorBoard log")
    start, scored, drawn = None, {}, []
    try:
        for event in _events(files[0]):
            start = event.wall_time if start is None else start
            for value in event.summary.value:
                if value.tag.endswith(SEEN):
                    scored[event.step] = event.wall_time
                elif value.HasField("image"):
                    drawn.append((event.step, event.wall_time))
    except Exception as error:  # whatever a damaged file makes of protobuf
        raise ValueError(f"the TensorBoard log cannot be read ({type(error).__name__})") from error
    return between(start or 0.0, scored, drawn, num_tasks)


def _events(path: Path) -> Iterator[Any]:
    """The events of a log, as far as it goes.

    TensorBoard's own reader spends a second on the checksums of every run. Each record is its length in eight bytes,
    four of a checksum, the event, and four of another.
    """
    with path.open("rb") as file:
        while len(head := file.read(12)) == 12:
            (length,) = struct.unpack("<Q", head[:8])
            content = file.read(length + 4)[:-4] if length <= MOST_BYTES else b""
            if len(content) < length:  # cut off where the run was killed, or damaged
                return
            yield Event.FromString(content)


def between(start: float, scored: Mapping[int, float], drawn: list[tuple[int, float]], num_tasks: int) -> list[float]:
    """Seconds from the last entry after a task to the scores of the next.

    Args:
        start: When the log was opened.
        scored: When the scores after each task were logged, by the number of tasks learnt.
        drawn: After how many tasks pictures were logged, and when.
        num_tasks: How many tasks were learnt.

    Raises:
        ValueError: Times are missing, or run backwards.
    """
    if missing := [task for task in range(1, num_tasks + 1) if task not in scored]:
        raise ValueError(f"the TensorBoard log has no scores after task {missing[0]}")
    seconds, before = [], start
    for task in range(1, num_tasks + 1):
        seconds.append(scored[task] - before)
        before = max([scored[task], *(when for step, when in drawn if step == task)])
    if min(seconds) < 0:
        raise ValueError("the times in the TensorBoard log run backwards")
    return seconds
