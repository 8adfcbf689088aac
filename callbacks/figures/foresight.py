"""How well tasks were predicted before they were learnt, by lead time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from callbacks.figures.skill import LOWEST_SKILL
from gpvae.metrics import ForesightTable, describe
from gpvae.plotting.canvas import BLUE, GREY, INK, LABEL, SMALL, TITLE, style_axes

#: Size of a panel in inches.
WIDTH, HEIGHT = 2.6, 2.4


def foresight_figure(table: ForesightTable, unit: str, note: str, dpi: int) -> Figure:
    """A panel for each metric, with a thin line for each task and a thick one for all of them.

    Args:
        table: Prequential scores of at least one task.
        unit: Unit of lead times.
        note: A note on the data, for the title.
        dpi: Pixels per inch.
    """
    metrics = table.metrics
    columns = min(4, len(metrics))
    rows = -(-len(metrics) // columns)
    figure = Figure((WIDTH * columns, HEIGHT * rows + 0.4), dpi=dpi, facecolor="white", layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for ax, metric in zip(axes, metrics, strict=False):
        draw_foresight(ax, table, metric)
        ax.set_xlabel(f"{unit} ahead", fontsize=LABEL, color=INK)
    for ax in axes[len(metrics) :]:
        ax.set_visible(False)
    title = "Predicted before it was learnt: each task (thin), all tasks (thick)" + note
    figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE, color=INK)
    return figure


def draw_foresight(ax: Axes, table: ForesightTable, metric: str) -> None:
    """Scores by lead time.

    Args:
        ax: Axes.
        table: Prequential scores.
        metric: The metric.
    """
    style_axes(ax)
    about, positions = describe(metric), np.arange(len(table.leads))
    for task in (*table.tasks, None):
        values = np.array([table.score(metric, task, lead).value for lead in table.leads])
        if metric.startswith("skill_"):
            values = np.maximum(values, LOWEST_SKILL)
        colour, width = (BLUE, 2.2) if task is None else (GREY, 0.7)
        ax.plot(positions, values, marker="o", ms=2 * width, color=colour, lw=width)
    if metric.startswith("skill_"):
        ax.axhline(0.0, color=INK, lw=0.8, ls=":", zorder=1)
    elif np.isfinite(about.best.value):
        ax.axhline(about.best.value, color=INK, lw=0.8, ls=":", zorder=1)
    ax.set_xticks(positions, table.leads, fontsize=SMALL)
    ax.set_title(f"{about.label}\n{about.hint.strip(' ()')}", fontsize=SMALL, color=INK, loc="left")
