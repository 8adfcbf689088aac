"""Decision boundaries on two moons after the last task, by order of the path, as in appendix F.3."""

from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure

from benchmarks.reproduce.drawing.checkpoints import Learnt, load
from benchmarks.reproduce.drawing.seeds import named
from benchmarks.reproduce.drawing.styles import BLUE, INK

SHOWN = {
    "moons_ohsvgp_kmax": "OHSVGP, greatest similarity",
    "moons_ohsvgp_rand": "OHSVGP, random",
    "moons_ohsvgp_kmin": "OHSVGP, least similarity",
    "moons_osvgp": "OSVGP",
}
#: Colours from class 0 to class 1 through white, paler than the points.
CLASSES = LinearSegmentedColormap.from_list("classes", ["#8FC1E0", "white", "#F5D48C"])
DARK_ORANGE = "#C47F00"
#: Class, colour and marker.
MARKERS = ((0, BLUE, "o"), (1, DARK_ORANGE, "^"))
GRID = 81
#: Margin around the points.
MARGIN = 0.2


def moons(runs: Path) -> Figure | None:
    """p(y = 1), the line where it is one half, and all training points, of one seed.

    Args:
        runs: Folder of runs.
    """
    found, seed = load({name: runs / name for name in SHOWN})
    if not found:
        return None
    figure = Figure(figsize=(10, 2.6), layout="constrained")
    axes = figure.subplots(1, len(found), sharex=True, sharey=True, squeeze=False)[0]
    for ax, (name, learnt) in zip(axes, found.items(), strict=True):
        filled = _draw(ax, learnt)
        accuracy, nlpd = (learnt.table.seen(metric)[-1] for metric in ("accuracy", "nlpd"))
        ax.set_title(f"{SHOWN[name]}\naccuracy {accuracy:.0%}, NLPD {nlpd:.3f}")
        ax.set_xlabel("$x_1$")
    axes[0].set_ylabel("$x_2$")
    figure.colorbar(filled, ax=axes, pad=0.01, ticks=[0, 0.5, 1], label=f"p(y = 1), {named([seed])}")
    return figure


def _draw(ax: Axes, learnt: Learnt) -> QuadContourSet:
    x = torch.cat([task.x_train for task in learnt.tasks])
    y = torch.cat([task.y_train for task in learnt.tasks])
    low, high = (x.amin(0) - MARGIN).tolist(), (x.amax(0) + MARGIN).tolist()
    first, second = (torch.linspace(low[i], high[i], GRID, dtype=x.dtype) for i in (0, 1))
    grid = torch.stack(torch.meshgrid(first, second, indexing="xy"), -1).flatten(0, 1)
    p = learnt.gp.predict(grid).mean.unflatten(0, (GRID, GRID)).numpy()
    filled = ax.contourf(first.numpy(), second.numpy(), p, levels=np.linspace(0, 1, 11), cmap=CLASSES)
    ax.contour(first.numpy(), second.numpy(), p, levels=[0.5], colors=INK, linewidths=1.4)
    for label, colour, marker in MARKERS:
        chosen = x[y == label].numpy()
        ax.plot(chosen[:, 0], chosen[:, 1], marker, color=colour, mew=0, ms=3)
    points = learnt.points.numpy()
    ax.plot(points[:, 0], points[:, 1], "x", color=INK, ms=5, mew=1.2)
    return filled
