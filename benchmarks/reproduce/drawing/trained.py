"""Kernels trained in every task compared with the kernel of the first task, as in appendix F.2."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reproduce.curves import common_seeds, curve
from benchmarks.reproduce.drawing.panels import LEGEND, Panel, draw_lines, legend
from benchmarks.reproduce.drawing.scores import SIZES
from benchmarks.reproduce.drawing.seeds import counted
from benchmarks.reproduce.drawing.styles import TRAINED

#: Panels with scores above this are in powers of ten above `LINEAR`.
MAX_LINEAR, LINEAR = 10.0, 1.0
TICKS = (-2, -1, 0, 0.5, 1, 2, 5, 10, 20, 50, *[10.0**power for power in range(2, 12)])


def trained(runs: Path) -> Figure | None:
    """NLPD and RMSE over the tasks seen, for each series with a kernel trained in every task.

    Args:
        runs: Folder of runs.
    """
    panels = [
        Panel(f"{data.capitalize()}, M = {size}", {name: runs / f"{data}_{name}_M{size}" for name in TRAINED})
        for data, sizes in SIZES.items()
        for size in sizes
    ]
    shown = [panel for panel in panels if _was_trained(panel) and panel.seeds]
    if not shown:
        return None
    figure = Figure(figsize=(8.5, 2.6 * len(shown) + LEGEND), layout="constrained")
    for row, panel in zip(figure.subplots(len(shown), 2, squeeze=False), shown, strict=True):
        for ax, metric in zip(row, ("nlpd", "rmse"), strict=True):
            _draw(ax, panel, metric)
    legend(figure, columns=2)
    return figure


def _was_trained(panel: Panel) -> bool:
    return any(common_seeds([folder]) for name, folder in panel.folders.items() if name.endswith("_trained"))


def _draw(ax: Axes, panel: Panel, metric: str) -> None:
    found = {name: curve(folder, metric, panel.seeds) for name, folder in panel.folders.items()}
    draw_lines(ax, found, TRAINED)
    lines = np.concatenate([line for line in found.values() if line is not None])
    if lines.max() > MAX_LINEAR:
        ax.set_yscale("symlog", linthresh=LINEAR, linscale=1)
        ax.set_ylim(lines.min() - 0.1, 1.5 * lines.max())
        ax.set_yticks([tick for tick in TICKS if lines.min() <= tick <= 1.5 * lines.max()])
        ax.yaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
    seen = f"tasks seen ({counted(panel.seeds)})"
    ax.set(title=panel.title, xlabel=seen, ylabel=f"{metric.upper()} over tasks seen")
