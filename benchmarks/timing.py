"""Side-by-side timing: contenders run in turn within one process, on one thread.

Seconds are CPU seconds of this process, which on one thread equal wall-clock seconds on an idle machine. Wall-clock
seconds are stored as well.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from rich.progress import Progress


@dataclass(frozen=True)
class Timing:
    """Times of the repeats of a contender."""

    seconds: list[float] = field(default_factory=list)
    wall_seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def wall_median(self) -> float:
        return statistics.median(self.wall_seconds)

    def as_dict(self) -> dict[str, object]:
        return {"median_seconds": self.median, "seconds": self.seconds, "wall_seconds": self.wall_seconds}

    def time(self, run: Callable[[], object]) -> None:
        """Run once, and add the time."""
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        self.seconds.append(time.process_time() - cpu)
        self.wall_seconds.append(time.perf_counter() - wall)


def side_by_side(
    contenders: Mapping[str, Callable[[], object]], repeats: int, once: tuple[str, ...] = ()
) -> dict[str, Timing]:
    """Time contenders in turn, each after an untimed run to fill caches.

    Args:
        contenders: Functions to time, by name.
        repeats: Rounds in which each contender runs once.
        once: Contenders that are too slow to repeat: they run only in the first round, without an untimed run.
    """
    torch.set_num_threads(1)
    timings = {name: Timing() for name in contenders}
    with Progress(transient=True) as progress:
        bar = progress.add_task("warming up", total=repeats * len(contenders))
        for name, run in contenders.items():
            if name not in once:
                run()
        for number in range(repeats):
            for name, run in contenders.items():
                progress.update(bar, description=name)
                if number == 0 or name not in once:
                    timings[name].time(run)
                progress.advance(bar)
    return timings


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times faster `fast` is: the median ratio over rounds, or the ratio of medians if rounds differ."""
    if len(slow.seconds) != len(fast.seconds):
        return slow.median / fast.median
    return statistics.median(s / f for s, f in zip(slow.seconds, fast.seconds, strict=True))
