"""Panels of a time series over dates: predictions, training hours and held-out hours."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from gpvae.plotting.canvas import BLUE, GREY, INK, SMALL, VERMILLION

#: Margin above and below the values, as a fraction of their range.
MARGIN = 0.15
#: Date labels on the axis of a panel.
MAX_DATES = 5

Floats = NDArray[np.float64]
Dates = NDArray[np.datetime64]


def draw_prediction(ax: Axes, dates: Dates, mean: Floats, lower: Floats, upper: Floats, name: str) -> None:
    """The predictive mean as a line, and an interval as a band around it.

    Args:
        ax: Axes.
        dates: Dates `[G]`, in order.
        mean: Mean `[G]`.
        lower: Lower end of the interval `[G]`.
        upper: Upper end `[G]`.
        name: Label of the interval in the legend.
    """
    ax.fill_between(dates, lower, upper, color=BLUE, alpha=0.2, lw=0, zorder=1, label=name)
    ax.plot(dates, mean, color=BLUE, lw=1.0, label="mean", zorder=3)


def draw_observations(ax: Axes, dates: Dates, values: Floats, held_out: bool) -> None:
    """Observations as dots: training hours faint, held-out hours strong.

    Args:
        ax: Axes.
        dates: Dates `[T]`.
        values: Values `[T]`; NaN where not observed.
        held_out: Whether they were held out for test.
    """
    if held_out:
        ax.plot(dates, values, "o", color=VERMILLION, ms=2.4, mew=0, zorder=4, label="held-out hours")
    else:
        ax.plot(dates, values, "o", color=GREY, ms=1.5, mew=0, zorder=2, label="training hours")


def draw_task_boundaries(ax: Axes, dates: Iterable[np.datetime64]) -> None:
    """A dotted line at each boundary between two tasks.

    Args:
        ax: Axes.
        dates: Dates of the boundaries.
    """
    for date in dates:
        ax.axvline(date, color=GREY, lw=0.7, ls=":", zorder=0.5)  # type: ignore[arg-type]


def value_limits(values: Floats) -> tuple[float, float]:
    """Limits of an axis around all finite values.

    Args:
        values: Any numbers.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    margin = MARGIN * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def label_tasks(ax: Axes, dates: Dates, names: Sequence[str]) -> None:
    """Names of tasks in small print above the axes.

    Args:
        ax: Axes.
        dates: The middle of each task.
        names: Its name.
    """
    style: dict[str, Any] = {"color": GREY, "fontsize": SMALL, "ha": "center", "va": "bottom"}
    for date, name in zip(dates, names, strict=True):
        ax.text(date, 1.02, name, transform=ax.get_xaxis_transform(), **style)


def format_date_axis(ax: Axes, begin: np.datetime64, end: np.datetime64) -> None:
    """Set limits and date labels of the time axis.

    Args:
        ax: Axes.
        begin: First date.
        end: Last date.
    """
    ax.set_xlim(begin, end)  # type: ignore[arg-type]
    locator = AutoDateLocator(minticks=2, maxticks=MAX_DATES)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    ax.xaxis.get_offset_text().set(fontsize=SMALL, color=INK)


def hide_date_labels(ax: Axes) -> None:
    """Remove date labels, which the lowest panel shows.

    Args:
        ax: Axes.
    """
    ax.xaxis.set_major_formatter(NullFormatter())


def draw_axis_break(left: Axes, right: Axes) -> None:
    """Mark a break in the time axis between two panels of the same series.

    Args:
        left: Axes before the break.
        right: Axes after it, which lose their own value axis.
    """
    right.spines["left"].set_visible(False)
    right.tick_params(left=False, labelleft=False)
    slash = [(-0.6, -1.0), (0.6, 1.0)]
    for ax, x in ((left, 1.0), (right, 0.0)):
        ax.plot(x, 0.0, marker=slash, color=GREY, ms=7, mew=0.9, transform=ax.transAxes, clip_on=False, zorder=5)
