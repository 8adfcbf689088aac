"""Blank figures, colours and font sizes, legends and colour bars, and PNG files.

Figures are matplotlib objects without pyplot: no backend is chosen, and they are freed once no longer referenced.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.image import imsave
from numpy.typing import NDArray

from gpvae.utils.atomic import replacing

#: Colours that colour-blind readers can tell apart (after Okabe and Ito 2008).
BLUE, DARK_ORANGE, VERMILLION = "#0072B2", "#C47F00", "#D55E00"
INK, GREY, PALE = "#222222", "#8A8A8A", "#F3F3F3"
#: Font sizes in points.
TITLE, LABEL, SMALL = 10.0, 9.0, 8.0


def blank_figure(width: float, height: float, dpi: int) -> tuple[Figure, Axes]:
    """A white figure with one set of axes, without spines at the top and on the right.

    Args:
        width: Width in inches.
        height: Height in inches.
        dpi: Pixels per inch.
    """
    figure = Figure(figsize=(width, height), dpi=dpi, facecolor="white", layout="constrained")
    ax = figure.add_subplot()
    style_axes(ax)
    return figure, ax


def style_axes(ax: Axes) -> None:
    """Remove the spines at the top and on the right; set colours and sizes of ticks.

    Args:
        ax: Axes.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(labelsize=SMALL, color=GREY, labelcolor=INK)


def label_axes(ax: Axes, x: str, y: str, title: str) -> None:
    """Set axis labels and a title on the left.

    Args:
        ax: Axes.
        x: Label of the horizontal axis.
        y: Label of the vertical axis.
        title: Title.
    """
    ax.set_xlabel(x, fontsize=LABEL, color=INK)
    ax.set_ylabel(y, fontsize=LABEL, color=INK)
    ax.set_title(title, fontsize=TITLE, color=INK, loc="left")


def add_legend(ax: Axes) -> None:
    """Add a legend in one row, level with the title and on the right.

    Args:
        ax: Axes whose labelled artists are listed.
    """
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=max(len(handles), 1),
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        markerscale=1.4,
        handlelength=1.4,
        handletextpad=0.5,
        columnspacing=1.2,
        borderaxespad=0.2,
    )


def add_colour_bar(ax: Axes, coloured: ScalarMappable, label: str, **options: Any) -> None:
    """Add a slim colour bar on the right.

    Args:
        ax: Axes.
        coloured: What is drawn in colours.
        label: What the colours mean.
        options: Further options of `Figure.colorbar`.
    """
    assert ax.figure is not None
    bar = ax.figure.colorbar(coloured, ax=ax, pad=0.02, aspect=30, **options)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL, length=0, labelcolor=INK)
    bar.set_label(label, fontsize=LABEL, color=INK)


def render(figure: Figure) -> NDArray[np.uint8]:
    """The pixels of a figure, `[height, width, 3]`.

    Args:
        figure: The figure; it is laid out and drawn once.
    """
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def save_png(pixels: NDArray[np.uint8], path: Path) -> None:
    """Write a PNG file atomically.

    Args:
        pixels: `[height, width, 3]`.
        path: The file; its folder is created if needed.
    """
    with replacing(path) as unfinished:
        imsave(unfinished, pixels, format="png")
