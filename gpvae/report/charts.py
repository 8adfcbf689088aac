"""Charts of scores: over the tasks seen, and of each task when it was just learnt and at the end.

They hold no text but numbers: names are written beside them, in HTML.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gpvae.metrics import describe
from gpvae.plotting.canvas import INK, LABEL, blank_figure
from gpvae.plotting.colour_scale import colour_limits
from gpvae.report.entries import Entry
from gpvae.report.palette import Style, Styles
from gpvae.results.experiments import Interval

#: Sizes in inches.
WIDTH, HEIGHT = 3.5, 2.4
#: With more tasks than these only 1, 2, 4, 8, ... are shown one by one, as in the paper.
MOST_TASKS = 5
#: Room beyond the means, as a share of their range; intervals that need more are cut off.
ROOM = 0.3
#: Far outliers are cut off only where the rest would have less than one part in so many of the axis.
CROWDED = 6.0
#: Room for half a marker, as a share of the axis.
EDGE = 0.04
NONE = Interval(np.nan, np.nan, np.nan, 0)


def over_tasks(entries: Sequence[Entry], styles: Styles, metric: str) -> Figure | None:
    """A metric over all tasks seen, a line for each method with its interval as a band; None if there is nothing.

    Args:
        entries: The methods.
        styles: How each of them is drawn.
        metric: Name of the metric.
    """
    figure, ax = blank_figure(WIDTH, HEIGHT, 72)
    means = []
    for entry in entries:
        tasks = np.arange(1, entry.experiment.num_tasks + 1)
        cells = [entry.experiment.scores.get((int(task), None, metric, ""), NONE) for task in tasks]
        mean, low, high = _arrays(cells)
        means.append(mean)
        style = styles[entry.identity]
        line: dict[str, Any] = {"color": style.colour, "ls": style.line, "marker": style.marker, "ms": 4, "lw": 1.5}
        ax.plot(tasks, mean, **line)
        ax.fill_between(tasks, low, high, color=style.colour, alpha=0.15, lw=0)
    return _framed(figure, ax, np.concatenate(means), metric, "tasks seen")


def learnt_and_at_the_end(entries: Sequence[Entry], styles: Styles, metric: str) -> Figure | None:
    """Single tasks when just learnt (hollow) and at the end (filled), joined by a line; None if there is nothing.

    Args:
        entries: The methods.
        styles: How each of them is drawn.
        metric: Name of the metric.
    """
    streams = [entry for entry in entries if entry.experiment.num_tasks > 1]
    if not streams:
        return None
    figure, ax = blank_figure(WIDTH, HEIGHT, 72)
    shown = some_tasks(max(entry.experiment.num_tasks for entry in streams))
    means = []
    for number, entry in enumerate(streams):
        end, scores, style = entry.experiment.num_tasks, entry.experiment.scores, styles[entry.identity]
        at = np.arange(len(shown)) + 0.7 * ((number + 0.5) / len(streams) - 0.5)
        learnt, _, _ = _arrays([scores.get((task, task, metric, ""), NONE) for task in shown])
        now, low, high = _arrays([scores.get((end, task, metric, ""), NONE) for task in shown])
        means += [learnt, now]
        mark: dict[str, Any] = {"marker": style.marker, "ls": "", "ms": 4.5, "color": style.colour}
        ax.vlines(at, low, high, color=style.colour, lw=4, alpha=0.2)
        ax.vlines(at, learnt, now, color=style.colour, lw=1)
        ax.plot(at, learnt, mfc="none", **mark)
        ax.plot(at, now, **mark)
    finished = _framed(figure, ax, np.concatenate(means), metric, "task")
    ax.set_xticks(range(len(shown)), list(map(str, shown)))
    return finished


def swatch(style: Style) -> Figure:
    """A bit of the line of a method, for the legend."""
    figure = Figure(figsize=(0.5, 0.17), dpi=72)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.plot([0.04, 0.96], [0.5, 0.5], color=style.colour, ls=style.line, lw=1.5)
    ax.plot([0.5], [0.5], color=style.colour, marker=style.marker, ms=5)
    return figure


def some_tasks(num_tasks: int) -> list[int]:
    """Tasks that are shown one by one: all of a few, else 1, 2, 4, 8 and so on.

    Args:
        num_tasks: How many there are.
    """
    if num_tasks <= MOST_TASKS:
        return list(range(1, num_tasks + 1))
    return [2**power for power in range(num_tasks.bit_length())]


def _arrays(cells: Sequence[Interval]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mean, low, high = np.array([(cell.mean, cell.low, cell.high) for cell in cells]).T
    return mean, low, high


def _limits(means: np.ndarray, span: float) -> tuple[float, float]:
    """The range of all means, or without far outliers where these would crowd the rest, which counts as so wide."""
    low, high = colour_limits(means)
    finite = means[np.isfinite(means)]
    lowest, highest = float(finite.min()), float(finite.max())
    return (lowest, highest) if 0 < highest - lowest <= CROWDED * max(high - low, span) else (low, high)


def _framed(figure: Figure, ax: Axes, means: np.ndarray, metric: str, below: str) -> Figure | None:
    """With limits that show the means, far outliers apart, and axes that end where scores do."""
    if not np.isfinite(means).any():
        return None
    low, high = _limits(means, describe(metric).resolution)
    room = ROOM * (high - low)
    least, most = describe(metric).bounds
    bottom, top = max(low - room, least), min(high + room, most)
    edge = EDGE * (top - bottom)  # a marker on the bound is drawn whole, though the axis ends there
    ax.set_ylim(bottom - edge * (bottom == least), top + edge * (top == most))
    ax.spines["left"].set_bounds(bottom, top)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.set_xlabel(below, fontsize=LABEL, color=INK)
    return figure
