"""Read off what has been drawn on axes, for comparison with model and data."""

import numpy as np
from matplotlib.axes import Axes


def points(ax: Axes, label: str) -> np.ndarray:
    """The points `[N, 2]` of the line with a label."""
    (found,) = [artist for artist in ax.lines if artist.get_label() == label]
    return np.stack([found.get_xdata(), found.get_ydata()], -1)


def legend(ax: Axes) -> list[str]:
    """The entries of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]
