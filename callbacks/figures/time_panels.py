"""A series over some days: the prediction with its band, the hours that were learnt from and those held out."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from gpvae.plotting.canvas import BLUE, GREY, INK, SMALL, VERMILLION

#: How much room there is beyond the outermost values, as a share of their range.
ROOM = 0.15
#: So many dates fit the width of a panel.
MOST_DATES = 5

Floats = NDArray[np.float64]
Dates = NDArray[np.datetime64]


def draw_band(ax: Axes, dates: Dates, mean: Floats, lower: Floats, upper: Floats, name: str) -> None:
    """The predictive mean as a line, and an interval around it.

    Args:
        ax: Axes.
        dates: When `[G]`, in order.
        mean: Mean `[G]`.
        lower: Lower end of the interval `[G]`.
        upper: Upper end `[G]`.
        name: What the legend calls the interval.
    """
    ax.fill_between(dates, lower, upper, color=BLUE, alpha=0.2, lw=0, zorder=1, label=name)
    ax.plot(dates, mean, color=BLUE, lw=1.0, label="mean", zorder=3)


def draw_hours(ax: Axes, dates: Dates, values: Floats, held_out: bool) -> None:
    """Observed values as dots: faint where they were learnt from, strong where they were held out.

    Args:
        ax: Axes.
        dates: When `[T]`.
        values: Values `[T]`; NaN where not observed.
        held_out: Which of the two they are.
    """
    if held_out:
        ax.plot(dates, values, "o", color=VERMILLION, ms=2.4, mew=0, zorder=4, label="held-out hours")
    else:
        ax.plot(dates, values, "o", color=GREY, ms=1.5, mew=0, zorder=2, label="training hours")


def draw_task_edges(ax: Axes, dates: Iterable[np.datetime64]) -> None:
    """A dotted line where one task ends and the next begins.

    Args:
        ax: Axes.
        dates: Where.
    """
    for date in dates:
        ax.axvline(date, color=GREY, lw=0.7, ls=":", zorder=0.5)  # type: ignore[arg-type]


def value_limits(values: Floats) -> tuple[float, float]:
    """From below the least finite value to above the greatest.

    Args:
        values: Any numbers.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = ROOM * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


def name_tasks(ax: Axes, dates: Dates, names: Sequence[str]) -> None:
    """Small words above the axes.

    Args:
        ax: Axes.
        dates: The middle of each task.
        names: What it is called.
    """
    style: dict[str, Any] = {"color": GREY, "fontsize": SMALL, "ha": "center", "va": "bottom"}
    for date, name in zip(dates, names, strict=True):
        ax.text(date, 1.02, name, transform=ax.get_xaxis_transform(), **style)


def date_axis(ax: Axes, begin: np.datetime64, end: np.datetime64) -> None:
    """Limits and dates of the time axis.

    Args:
        ax: Axes.
        begin: When it begins.
        end: When it ends.
    """
    ax.set_xlim(begin, end)  # type: ignore[arg-type]
    locator = AutoDateLocator(minticks=2, maxticks=MOST_DATES)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    ax.xaxis.get_offset_text().set(fontsize=SMALL, color=INK)


def hide_dates(ax: Axes) -> None:
    """Leave the dates to axes below.

    Args:
        ax: Axes.
    """
    ax.xaxis.set_major_formatter(NullFormatter())


def draw_gap(left: Axes, right: Axes) -> None:
    """Say that time is left out between two axes of the same series.

    Args:
        left: The axes before the gap.
        right: The axes after it, without numbers of their own.
    """
    right.spines["left"].set_visible(False)
    right.tick_params(left=False, labelleft=False)
    slash = [(-0.6, -1.0), (0.6, 1.0)]
    for ax, x in ((left, 1.0), (right, 0.0)):
        ax.plot(x, 0.0, marker=slash, color=GREY, ms=7, mew=0.9, transform=ax.transAxes, clip_on=False, zorder=5)
