"""Estimates of the remaining time, from the finished runs."""

from collections.abc import Iterable
from statistics import mean, median

from benchmarks.reproduce.runs import Run


def seconds_of(finished: Iterable[Run]) -> dict[str, list[float]]:
    """How long the finished runs of each experiment took."""
    known: dict[str, list[float]] = {}
    for run in finished:
        seconds = run.read().get("seconds")
        if isinstance(seconds, int | float):
            known.setdefault(run.experiment.name, []).append(float(seconds))
    return known


def remaining(finished: Iterable[Run], left: Iterable[Run], jobs: int = 1) -> float:
    """Estimated seconds until all runs are finished.

    A run takes as long as other runs of its experiment; if there are none, as long as its experiment states, scaled by
    the speed of this machine.

    Args:
        finished: Runs that are finished.
        left: Runs that are not.
        jobs: Number of parallel runs.
    """
    finished = list(finished)
    known = seconds_of(finished)
    stated = {run.experiment.name: 60 * run.minutes for run in finished}
    ratios = [mean(seconds) / stated[name] for name, seconds in known.items()]
    pace = median(ratios) if ratios else 1.0
    total = sum(
        mean(known[run.experiment.name]) if run.experiment.name in known else 60 * run.minutes * pace for run in left
    )
    return total / max(jobs, 1)


def format_duration(seconds: float) -> str:
    """A duration in hours and minutes."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
