"""The forgetting matrix: a metric of each task, after each task."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from gpvae.metrics import Description, describe
from gpvae.plotting.canvas import SMALL, add_colour_bar, blank_figure, label_axes
from gpvae.plotting.colour_scale import ColourScale

#: Values are written into the cells up to this many tasks; axes have at most this many numbers.
MAX_NUMBERS = 12

Floats = NDArray[np.float64]


def forgetting_figure(matrix: Floats, metric: str, dpi: int, note: str = "") -> Figure:
    """The forgetting matrix of a metric, with a title.

    Args:
        matrix: `[after, task]`, NaN where there is no value; at least one is finite.
        metric: Name of the metric.
        dpi: Pixels per inch.
        note: A note on the data, for the title.
    """
    figure, ax = blank_figure(5.6, 4.4, dpi)
    description = describe(metric)
    draw_heat_map(ax, matrix, description)
    label_axes(ax, "task", "after task", f"{description.label} of each task, as the stream goes on{note}")
    return figure


def draw_heat_map(ax: Axes, matrix: Floats, metric: Description) -> None:
    """Draw the score of each task (columns) after each task (rows); bright is bad, cells without a value are white.

    Args:
        ax: Axes.
        matrix: `[after, task]`, NaN where there is no value; at least one is finite.
        metric: The metric.
    """
    scale = ColourScale.of(matrix, metric)
    low, high = scale.low, scale.high
    num_rows, num_columns = matrix.shape
    image = ax.imshow(
        np.ma.masked_invalid(np.clip(matrix, 2 * low - high, 2 * high - low)),  # infinite values have a colour too
        cmap=scale.colour_map(),
        vmin=low,
        vmax=high,
        aspect="auto",
        extent=(0.5, num_columns + 0.5, num_rows + 0.5, 0.5),
    )
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=MAX_NUMBERS, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if max(matrix.shape) <= MAX_NUMBERS:
        _write_values(ax, matrix, image)
    below, above = bool((matrix < low).any()), bool((matrix > high).any())
    extend = "both" if below and above else "min" if below else "max" if above else "neither"
    add_colour_bar(ax, image, metric.label + metric.hint, extend=extend)


def _write_values(ax: Axes, matrix: Floats, image: AxesImage) -> None:
    for position in range(1, max(matrix.shape)):
        ax.axvline(position + 0.5, color="white", lw=1)
        ax.axhline(position + 0.5, color="white", lw=1)
    low, high = image.get_clim()
    decimals = 2 if high - low >= 0.1 else 3
    for row, column in zip(*np.nonzero(~np.isnan(matrix)), strict=True):
        value = matrix[row, column]
        red, green, blue, _ = (channel**2.2 for channel in image.cmap(image.norm(value)))
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        color = "white" if luminance < 0.18 else "black"  # the colour with more contrast (WCAG)
        ax.text(column + 1, row + 1, _format(value, decimals), color=color, fontsize=SMALL, ha="center", va="center")


def _format(value: float, decimals: int) -> str:
    """The value in about five characters."""
    if np.isinf(value):
        text = "∞" if value > 0 else "-∞"
    elif abs(value) < 100:
        text = f"{round(value, decimals) + 0.0:.{decimals}f}"  # + 0.0: no negative zero
    else:
        text = f"{value:.0f}" if abs(value) < 1e5 else f"{value:.0e}"
    return text.replace("-", "−")
