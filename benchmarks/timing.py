"""Side-by-side timing: the contenders take turns within one run, on one thread.

Seconds are CPU seconds of this process: on one thread they are what the wall clock would show if nobody else used the
machine. Wall-clock seconds are kept beside them.
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
    """What each repeat of a contender took."""

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
        """Run once, and add what it took."""
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        self.seconds.append(time.process_time() - cpu)
        self.wall_seconds.append(time.perf_counter() - wall)


def side_by_side(
    contenders: Mapping[str, Callable[[], object]], repeats: int, once: tuple[str, ...] = ()
) -> dict[str, Timing]:
    """Time contenders in turns, each after an untimed run to fill caches.

    Args:
        contenders: What to time, by name.
        repeats: Rounds in which each contender runs once.
        once: Contenders that are too slow to repeat: they run in the first round only, without a run before it.
    """
    torch.set_num_threads(1)
    timings = {name: Timing() for name in contenders}
    with Progress(transient=True) as progress:
        bar = progress.add_task("warming up", total=repeats * len(contenders))
        for name, run in contenders.items():
            if name not in once:
                run()
        for turn in range(repeats):
            for name, run in contenders.items():
                progress.update(bar, description=name)
                if turn == 0 or name not in once:
                    timings[name].time(run)
                progress.advance(bar)
    return timings


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times faster `fast` is: the median over rounds of the ratio within a round, where both ran in each."""
    if len(slow.seconds) != len(fast.seconds):
        return slow.median / fast.median
    return statistics.median(s / f for s, f in zip(slow.seconds, fast.seconds, strict=True))
