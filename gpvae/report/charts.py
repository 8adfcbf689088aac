"""Charts of scores, over the tasks seen and of single tasks when just learnt and at the end, as SVG within the page.

Their only text is numbers and the names of axes: names of methods are written beside them, in HTML.
"""

import html
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gpvae.metrics import describe
from gpvae.plotting.canvas import GREY, INK, LABEL, blank_figure
from gpvae.plotting.colour_scale import colour_limits
from gpvae.report.groups import Entry
from gpvae.report.palette import Style, Styles
from gpvae.results.experiments import Interval

#: Sizes in inches.
WIDTH, HEIGHT = 3.5, 2.4
#: Of more tasks than these, only 1, 2, 4, 8, ... are plotted one by one, as in the paper.
MAX_TASKS = 5
#: Margin beyond the means, as a fraction of their range; longer intervals are cut off.
MARGIN = 0.3
#: Far outliers are cut off only if the other means would cover less than 1 / CROWDING of the axis.
CROWDING = 6.0
#: Margin for half a marker, as a fraction of the axis.
MARKER_MARGIN = 0.04
#: Intervals of fewer seeds are not drawn: Student's t makes them wider than everything else in the chart.
MIN_SEEDS = 3
MISSING = Interval(np.nan, np.nan, np.nan, 0)
#: What an SVG file needs, but not an `svg` element of a page.
_SUPERFLUOUS = re.compile(
    r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|\s*xmlns(?::\w+)?=\"[^\"]*\"", re.DOTALL
)
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)pt" height="([\d.]+)pt"')
_ID, _USED = re.compile(r' id="([^"]*)"'), re.compile(r'(?:href="|url\()#([^")]*)')
_FONT = re.compile(r"font: ([\d.]+)px [^;\"]+")


def plot_tasks_seen(entries: Sequence[Entry], styles: Styles, metric: str) -> Figure | None:
    """Plot a metric over all tasks seen: a line for each method, with its interval as a band; None without scores.

    Args:
        entries: The methods.
        styles: How each of them is drawn.
        metric: Name of the metric.
    """
    figure, ax = blank_figure(WIDTH, HEIGHT, 72)
    means = []
    for entry in entries:
        tasks = np.arange(1, entry.experiment.num_tasks + 1)
        cells = [entry.experiment.scores.get((int(task), None, metric, ""), MISSING) for task in tasks]
        mean, low, high = _arrays(cells)
        means.append(mean)
        style = styles[entry.identity]
        line: dict[str, Any] = {"color": style.colour, "ls": style.line, "marker": style.marker, "ms": 4, "lw": 1.5}
        ax.plot(tasks, mean, **line)
        ax.fill_between(tasks, low, high, color=style.colour, alpha=0.15, lw=0)
    return _finish(figure, ax, np.concatenate(means), metric, "tasks seen")


def plot_single_tasks(entries: Sequence[Entry], styles: Styles, metric: str) -> Figure | None:
    """Plot single tasks when just learnt (hollow) and at the end (filled), joined by a line; None without scores.

    Args:
        entries: The methods.
        styles: How each of them is drawn.
        metric: Name of the metric.
    """
    streams = [entry for entry in entries if entry.experiment.num_tasks > 1]
    if not streams:
        return None
    figure, ax = blank_figure(WIDTH, HEIGHT, 72)
    shown = tasks_to_plot(max(entry.experiment.num_tasks for entry in streams))
    means = []
    for number, entry in enumerate(streams):
        end, scores, style = entry.experiment.num_tasks, entry.experiment.scores, styles[entry.identity]
        at = np.arange(len(shown)) + 0.7 * ((number + 0.5) / len(streams) - 0.5)
        learnt, _, _ = _arrays([scores.get((task, task, metric, ""), MISSING) for task in shown])
        now, low, high = _arrays([scores.get((end, task, metric, ""), MISSING) for task in shown])
        means += [learnt, now]
        mark: dict[str, Any] = {"marker": style.marker, "ls": "", "ms": 4.5, "color": style.colour}
        ax.vlines(at, low, high, color=style.colour, lw=4, alpha=0.2)
        ax.vlines(at, learnt, now, color=style.colour, lw=1)
        ax.plot(at, learnt, mfc="none", **mark)
        ax.plot(at, now, **mark)
    finished = _finish(figure, ax, np.concatenate(means), metric, "task")
    ax.set_xticks(range(len(shown)), list(map(str, shown)))
    return finished


def plot_key(style: Style) -> Figure:
    """Plot a piece of a method's line, for the legend.

    Args:
        style: How the method is drawn.
    """
    figure = Figure(figsize=(0.5, 0.17), dpi=72)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.plot([0.04, 0.96], [0.5, 0.5], color=style.colour, ls=style.line, lw=1.5)
    ax.plot([0.5], [0.5], color=style.colour, marker=style.marker, ms=5)
    return figure


def tasks_to_plot(num_tasks: int) -> list[int]:
    """The tasks that are plotted one by one: all of a few, else 1, 2, 4, 8 and so on.

    Args:
        num_tasks: How many there are.
    """
    if num_tasks <= MAX_TASKS:
        return list(range(1, num_tasks + 1))
    return [2**power for power in range(num_tasks.bit_length())]


def describe_tasks(num_tasks: int) -> str:
    """The tasks that are plotted one by one, in words.

    Args:
        num_tasks: How many there are.
    """
    *others, last = tasks_to_plot(num_tasks)
    if last == len(others) + 1 == num_tasks:
        return "single tasks"
    return f"tasks {', '.join(map(str, others))} and {last} of {num_tasks}"


def to_svg(figure: Figure, salt: str, description: str) -> str:
    """The figure as an `svg` element: its text stays text, and its ink has the colour of the text around it.

    Args:
        figure: The figure; it contains no text from runs.
        salt: Something unique on the page, for the ids within the element.
        description: Its description for screen readers; empty if it is decoration.
    """
    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(file, format="svg", transparent=True)
    text = file.getvalue()
    text = _SUPERFLUOUS.sub("", text[text.index("<svg") :])
    label = f'role="img" aria-label="{html.escape(description)}"' if description else 'aria-hidden="true"'
    text = _SIZE.sub(lambda found: f'<svg {label} {found[1]}width="{found[2]}" height="{found[3]}"', text, count=1)
    text = _FONT.sub(r"font-size: \1px", text)
    used = set(_USED.findall(text))  # all other ids would be the same in every figure
    text = _ID.sub(lambda found: found[0] if found[1] in used else "", text)
    for ink in (INK, GREY):
        text = text.replace(f"fill: {ink.lower()}", "fill: currentColor")
        text = text.replace(f"stroke: {ink.lower()}", "stroke: currentColor")
    return re.sub(r"\n\s*", "\n", text)


def _arrays(cells: Sequence[Interval]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mean, low, high, runs = np.array([(cell.mean, cell.low, cell.high, cell.runs) for cell in cells]).T
    return mean, np.where(runs < MIN_SEEDS, np.nan, low), np.where(runs < MIN_SEEDS, np.nan, high)


def _limits(means: np.ndarray, span: float) -> tuple[float, float]:
    """The range of all means, or that without far outliers if these would crowd the others.

    Args:
        means: All means.
        span: The least range that the others count as.
    """
    low, high = colour_limits(means)
    finite = means[np.isfinite(means)]
    lowest, highest = float(finite.min()), float(finite.max())
    return (lowest, highest) if 0 < highest - lowest <= CROWDING * max(high - low, span) else (low, high)


def _finish(figure: Figure, ax: Axes, means: np.ndarray, metric: str, xlabel: str) -> Figure | None:
    """Set limits that show the means without far outliers, and axes that end at the bounds of the metric."""
    if not np.isfinite(means).any():
        return None
    low, high = _limits(means, describe(metric).resolution)
    margin = MARGIN * (high - low)
    lower, upper = describe(metric).bounds
    bottom, top = max(low - margin, lower), min(high + margin, upper)
    extra = MARKER_MARGIN * (top - bottom)  # markers on a bound are drawn whole, though the axis ends there
    ax.set_ylim(bottom - extra * (bottom == lower), top + extra * (top == upper))
    ax.spines["left"].set_bounds(bottom, top)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.set_xlabel(xlabel, fontsize=LABEL, color=INK)
    return figure
