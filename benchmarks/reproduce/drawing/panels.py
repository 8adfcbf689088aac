"""Panels of scores along a stream, with a line for each method and one legend."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from benchmarks.reproduce.curves import common_seeds, curve
from benchmarks.reproduce.drawing.seeds import counted
from benchmarks.reproduce.drawing.styles import Style

WIDTH, HEIGHT = 10.0, 2.3
#: Panels in a row.
COLUMNS = 4
#: Inches for a line of the legend.
LEGEND = 0.3


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        title: Its title.
        folders: Folders of experiments, by name of the style.
        max_height: Upper limit of the vertical axis.
    """

    title: str
    folders: Mapping[str, Path]
    max_height: float = math.inf

    @property
    def seeds(self) -> list[str]:
        """The seeds that all methods of the panel have."""
        return common_seeds(self.folders.values())


def figure_of(panels: Sequence[Panel], styles: Mapping[str, Style], metric: str = "nlpd") -> Figure | None:
    """A score over the tasks seen, in the panels that have runs; None if there are no runs.

    Args:
        panels: The panels.
        styles: Style by method.
        metric: Name of the score.
    """
    shown = [panel for panel in panels if panel.seeds]
    if not shown:
        return None
    figure = Figure(figsize=(WIDTH, rows_of(shown) * HEIGHT + LEGEND), layout="constrained")
    fill(figure, shown, styles, metric)
    return figure


def rows_of(panels: Sequence[Panel]) -> int:
    """Number of rows of some panels.

    Args:
        panels: The panels.
    """
    return math.ceil(len(panels) / COLUMNS)


def fill(figure: Figure | SubFigure, panels: Sequence[Panel], styles: Mapping[str, Style], metric: str) -> None:
    """Draw panels that all have runs, and a legend below them.

    Args:
        figure: Figure, or a part of one.
        panels: The panels.
        styles: Style by method.
        metric: Name of the score.
    """
    columns = min(COLUMNS, len(panels))
    axes = figure.subplots(rows_of(panels), columns, squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    for ax, panel in zip(axes.flat, panels, strict=False):
        found = {name: curve(folder, metric, panel.seeds) for name, folder in panel.folders.items()}
        draw_lines(ax, found, styles)
        ax.set_title(panel.title)
        ax.set_xlabel(f"tasks seen ({counted(panel.seeds)})")
        set_height(ax, [line for line in found.values() if line is not None], panel.max_height)
    for ax in axes[:, 0]:
        ax.set_ylabel(f"{metric.upper()} over tasks seen")
    legend(figure)


def draw_lines(ax: Axes, found: Mapping[str, np.ndarray | None], styles: Mapping[str, Style]) -> bool:
    """A line for each method that has runs; whether there is any.

    Args:
        ax: Axes.
        found: Scores after each task, by method.
        styles: Style by method.
    """
    lines = {name: line for name, line in found.items() if line is not None}
    for name, line in lines.items():
        style, tasks = styles[name], np.arange(1, len(line) + 1)
        ax.plot(tasks, line, color=style.colour, ls=style.line, label=style.label, lw=1.6, marker="o", ms=2.5)
        ax.set_xticks(tasks if len(tasks) <= 5 else tasks[1::2])
    return bool(lines)


def set_height(ax: Axes, lines: Sequence[np.ndarray], max_height: float) -> None:
    """Set the limits of the vertical axis to show all lines up to an upper limit.

    Args:
        ax: Axes.
        lines: The lines.
        max_height: Upper limit of the vertical axis.
    """
    values = np.concatenate(lines)
    values = values[np.isfinite(values)]
    if not len(values):
        return
    low, high = values.min(), min(values.max(), max_height)
    extent = (high - low) or 1.0
    ax.set_ylim(low - 0.1 * extent, high + (0.05 * extent if high < max_height else 0))


def legend(figure: Figure | SubFigure, columns: int = 6) -> None:
    """One legend for all panels, below them.

    Args:
        figure: Figure, or a part of one.
        columns: Entries in a line.
    """
    known: dict[str, Artist] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    if known:
        columns = min(columns, len(known))
        figure.legend(list(known.values()), list(known), loc="outside lower center", ncols=columns, frameon=False)
