"""Skill by variable: mean scores when tasks were just learnt, and after the last task."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gpvae.metrics import TaskTable, describe
from gpvae.plotting.canvas import BLUE, GREY, INK, LABEL, PALE, SMALL, TITLE, VERMILLION, style_axes

#: Skill against a reference has no lower bound; it is drawn from here on.
LOWEST_SKILL = -1.0
SKILL_BOUNDS = (-np.inf, 1.0)
#: Sizes in inches.
PANEL, ROW, TOP = 3.4, 0.2, 1.0

Floats = NDArray[np.float64]


def initial_and_final(matrix: Floats) -> tuple[float, float]:
    """Mean scores over tasks when each was just learnt, and after the last task; over tasks with both scores.

    Args:
        matrix: `[after, task]`, NaN where there is no value.
    """
    initial, final = matrix.diagonal(), matrix[-1]
    known = np.isfinite(initial) & np.isfinite(final)
    return (float(initial[known].mean()), float(final[known].mean())) if known.any() else (np.nan, np.nan)


def skill_figure(table: TaskTable, note: str, dpi: int, metrics: Sequence[str] = ()) -> Figure:
    """A panel for each metric and a row for each variable, with the best by the first metric at the top.

    Args:
        table: The scores, with at least one variable.
        note: A note on the data, for the title.
        dpi: Pixels per inch.
        metrics: The metrics to draw, all by default; skills below `LOWEST_SKILL` are drawn there.
    """
    scores = {
        metric: {variable: initial_and_final(table.matrix(metric, variable)) for variable in table.variables}
        for metric in metrics or table.metrics
    }
    metric, first = next(iter(scores.items()))
    losses = {variable: describe(metric).best.loss(final) for variable, (_, final) in first.items()}
    order = sorted(first, key=lambda variable: -np.nan_to_num(losses[variable], nan=np.inf))
    size = (0.6 + PANEL * len(scores), TOP + ROW * len(order))
    figure = Figure(size, dpi=dpi, facecolor="white", layout="constrained")
    axes = figure.subplots(1, len(scores), squeeze=False, sharey=True)[0]
    for ax, (metric, by_variable) in zip(axes, scores.items(), strict=True):
        about = describe(metric)
        drawn = np.array([by_variable[variable] for variable in order])
        if about.bounds == SKILL_BOUNDS:
            drawn = np.maximum(drawn, LOWEST_SKILL)
            ax.axvline(0.0, color=GREY, lw=0.8, zorder=0.5)
        draw_skill(ax, order, drawn)
        scale = " of standardised values" if about.standardised else ""
        ax.set_xlabel(about.label + scale + about.hint, fontsize=LABEL, color=INK)
    figure.suptitle("Skill by variable, mean over tasks" + note, x=0.01, ha="left", fontsize=TITLE, color=INK)
    handles, labels = axes[0].get_legend_handles_labels()
    options: dict[str, Any] = {"frameon": False, "fontsize": SMALL, "labelcolor": INK, "handletextpad": 0.2}
    figure.legend(handles, labels, loc="upper right", ncols=len(labels), borderaxespad=0.2, **options)
    return figure


def draw_skill(ax: Axes, variables: Sequence[str], scores: Floats) -> None:
    """For each variable a dot for each mean score, joined by a bar, whose length is what was forgotten.

    Args:
        ax: Axes.
        variables: Names, from bottom to top.
        scores: Initial and final scores `[V, 2]`.
    """
    style_axes(ax)
    rows = np.arange(len(variables))
    initial, final = scores.T
    for row in rows[::2]:
        ax.axhspan(row - 0.5, row + 0.5, color=PALE, lw=0, zorder=0)
    ax.hlines(rows, initial, final, color=GREY, lw=2.0, zorder=1)
    ax.plot(initial, rows, "o", color="white", mec=BLUE, mew=1.3, ms=5.5, label="just learnt", zorder=3)
    ax.plot(final, rows, "o", color=VERMILLION, mew=0, ms=5.5, label="after the last task", zorder=2)
    ax.set_yticks(rows, variables)
    ax.set_ylim(-0.5, len(variables) - 0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.margins(x=0.08)
