"""The scores of each COVID task, as in figure 4 and appendix E, with the renewal model."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reproduce.curves import Ends, common_seeds, ends
from benchmarks.reproduce.drawing.panels import LEGEND, Panel, legend
from benchmarks.reproduce.drawing.seeds import named
from benchmarks.reproduce.drawing.styles import COVID, GREY, INK, Style

RENEWAL = "covid_renewal"
#: Inference of q(u), and its suffix in names of experiments.
WAYS = {"natural gradients": "_natural", "Adam": ""}


def covid_panels(runs: Path) -> list[Panel]:
    """COVID with the paper's M, by natural gradients and by Adam.

    Args:
        runs: Folder of runs.
    """
    return [
        Panel(f"COVID, M = {size}, {way}", {method: runs / f"covid_{method}{short}_M{size}" for method in COVID})
        for way, short in WAYS.items()
        for size in (15, 30)
    ]


def covid(runs: Path) -> Figure | None:
    """NLPD and ECE of each task when just learnt (hollow) and at the end (filled).

    The renewal model is drawn if it has all seeds of the panel.

    Args:
        runs: Folder of runs.
    """
    panels = [panel for panel in covid_panels(runs) if panel.seeds]
    if not panels:
        return None
    figure = Figure(figsize=(10, 4.8 + LEGEND), layout="constrained")
    axes = figure.subplots(2, len(panels), sharex=True, sharey="row", squeeze=False)
    for row, metric in zip(axes, ("nlpd", "ece"), strict=True):
        row[0].set_ylabel(f"{metric.upper()} of a task")
        for ax, panel in zip(row, panels, strict=True):
            _draw(ax, panel, metric, runs / RENEWAL)
    for ax, panel in zip(axes[0], panels, strict=True):
        ax.set_title(f"{panel.title.removeprefix('COVID, ')}\n{named(panel.seeds)}")
    for ax in axes[-1]:
        ax.set(xlabel="task", xticks=range(1, 6))
    legend(figure, columns=7)
    return figure


def _draw(ax: Axes, panel: Panel, metric: str, renewal: Path) -> None:
    found = {name: ends(folder, metric, panel.seeds) for name, folder in panel.folders.items()}
    shown = {name: scores for name, scores in found.items() if scores is not None}
    ax.plot([], [], "o", color=GREY, mfc="white", ms=4.5, label="when just learnt")
    ax.plot([], [], "o", color=GREY, ms=4.5, label="at the end")
    offsets = (np.arange(len(shown)) - (len(shown) - 1) / 2) * 0.17
    for offset, (name, scores) in zip(offsets, shown.items(), strict=True):
        _dots(ax, scores, offset, COVID[name])
    whole = ends(renewal, metric, panel.seeds)
    if whole is not None and set(panel.seeds) <= set(common_seeds([renewal])):
        tasks = np.arange(1, len(whole.last) + 1)
        ax.hlines(whole.last, tasks - 0.4, tasks + 0.4, color=INK, lw=1.2, label="AR(2) renewal, all at once")


def _dots(ax: Axes, found: Ends, offset: float, style: Style) -> None:
    positions = np.arange(1, len(found.last) + 1) + offset
    ax.vlines(positions, found.first, found.last, color=style.colour, lw=1)
    ax.plot(positions, found.first, "o", color=style.colour, mfc="white", ms=4.5)
    ax.plot(positions, found.last, "o", color=style.colour, ms=4.5, label=style.label)
