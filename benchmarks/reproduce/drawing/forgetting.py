"""NLPD of each task after each task: matrices in which forgetting shows as columns that brighten."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage

from benchmarks.reproduce.curves import curve
from benchmarks.reproduce.drawing.panels import WIDTH, Panel
from benchmarks.reproduce.drawing.seeds import counted
from benchmarks.reproduce.drawing.styles import SERIES, WEATHER, Style

#: From good to bad, from dark to bright, as in the figures of runs.
COLOURS = "viridis"
#: Scores above this quantile have the colour of the worst.
SHARE = 0.98
HEIGHT = 2.75


def forgetting(runs: Path) -> Figure | None:
    """NLPD of a task after each task: a row for Solar and one for ERA5, each with one scale.

    Args:
        runs: Folder of runs.
    """
    solar = Panel("Solar, M = 50", {name: runs / f"solar_{name}_M50" for name in ("osgpr", "ovc", "ohsgpr", "coss")})
    names = ("OSVGP", "OVC", "OVC-per-dim", "OHSVGP")
    era5 = Panel("ERA5 at Finse, EWC, M = 50", {name: runs / f"era5_finse_{name}_ewc_M50" for name in names})
    rows = [(panel, styles) for panel, styles in ((solar, SERIES), (era5, WEATHER)) if panel.seeds]
    if not rows:
        return None
    figure = Figure(figsize=(WIDTH, HEIGHT * len(rows)), layout="constrained")
    for part, (panel, styles) in zip(figure.subfigures(len(rows), 1, squeeze=False)[:, 0], rows, strict=True):
        _row(part, panel, styles)
    return figure


def matrix(experiment: Path, seeds: list[str]) -> np.ndarray | None:
    """NLPD `[after_task, task]`, both from 0, mean over seeds; NaN above the diagonal, None if there are no runs.

    Args:
        experiment: Folder of an experiment.
        seeds: Names of seeds.
    """
    first = curve(experiment, "nlpd", seeds, task=1)
    tasks = range(1, 1 if first is None else len(first) + 1)
    columns = [column for task in tasks if (column := curve(experiment, "nlpd", seeds, task)) is not None]
    return np.stack(columns, axis=1) if columns else None


def _row(figure: SubFigure, panel: Panel, styles: Mapping[str, Style]) -> None:
    found = {name: matrix(folder, panel.seeds) for name, folder in panel.folders.items()}
    shown = {name: scores for name, scores in found.items() if scores is not None}
    everything = np.concatenate([scores[np.isfinite(scores)] for scores in shown.values()])
    low, high = everything.min(), np.quantile(everything, SHARE)
    axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for ax, (name, scores) in zip(axes, shown.items(), strict=True):
        image = _draw(ax, scores, low, high)
        lost = np.mean(scores[-1, :-1] - scores.diagonal()[:-1])
        ax.set_title(f"{styles[name].label}: forgets {lost:.2f}")
    axes[0].set_ylabel("after task")
    extend = "max" if high < everything.max() else "neither"
    figure.colorbar(image, ax=axes, pad=0.01, extend=extend, label="NLPD of a task")
    figure.suptitle(f"{panel.title}, {counted(panel.seeds)}", x=0.01, ha="left", fontsize=10)


def _draw(ax: Axes, scores: np.ndarray, low: float, high: float) -> AxesImage:
    size = len(scores)
    edges = (0.5, size + 0.5, size + 0.5, 0.5)
    image = ax.imshow(scores, cmap=COLOURS, vmin=low, vmax=high, extent=edges, aspect="auto")
    ticks = [1, *range(2, size + 1, 2)] if size > 5 else range(1, size + 1)
    ax.set(xlabel="task", xticks=ticks, yticks=ticks)
    return image
