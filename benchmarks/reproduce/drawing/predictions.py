"""What methods predict on Solar after all ten tasks, as in figure 3."""

from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reproduce.drawing.checkpoints import Learnt, load
from benchmarks.reproduce.drawing.seeds import named
from benchmarks.reproduce.drawing.styles import GREY, INK, SERIES

SHOWN = ("osgpr", "ovc", "ovff", "ohsgpr")
#: Number of inducing variables.
SIZE = 50
GRID = 1001
#: Margin above and below the targets, as a fraction of their range.
MARGIN = 0.25


def predictions(runs: Path) -> Figure | None:
    """Mean ± 2 standard deviations, one seed, the same axes for all.

    Args:
        runs: Folder of runs.
    """
    found, seed = load({name: runs / f"solar_{name}_M{SIZE}" for name in SHOWN})
    if not found:
        return None
    figure = Figure(figsize=(10, 1.7 * len(found) + 0.3), layout="constrained")
    axes = figure.subplots(len(found), sharex=True, sharey=True, squeeze=False)[:, 0]
    for ax, (name, learnt) in zip(axes, found.items(), strict=True):
        _draw(ax, learnt, SERIES[name].colour)
        nlpd = learnt.table.seen("nlpd")[-1]
        ax.set_title(f"{SERIES[name].label}, M = {SIZE}, {named([seed])}: NLPD {nlpd:.2f}", loc="left")
    axes[-1].set_xlabel("x")
    return figure


def _draw(ax: Axes, learnt: Learnt, colour: str) -> None:
    inputs = torch.cat([task.x_train for task in learnt.tasks])[:, 0]
    targets = torch.cat([task.y_train for task in learnt.tasks])
    begin, end = float(inputs.min()), float(inputs.max())
    x = torch.linspace(begin, end, GRID, dtype=torch.float64)
    y = learnt.gp.predict(x)
    low, high = y.mean - 2 * y.stddev, y.mean + 2 * y.stddev
    ax.fill_between(x.numpy(), low.numpy(), high.numpy(), color=colour, alpha=0.22, lw=0)
    ax.plot(inputs.numpy(), targets.numpy(), ".", color=GREY, ms=3.5, mew=0)
    ax.plot(x.numpy(), y.mean.numpy(), color=colour, lw=1.4)
    for task in learnt.tasks[1:]:
        ax.axvline(float(task.x_train[:, 0].min()), color=GREY, lw=0.6, ls=":")
    points = learnt.points[:, 0]
    heights = torch.full_like(points, 0.04)
    ax.plot(points.numpy(), heights.numpy(), "|", color=INK, ms=6, mew=0.9, transform=ax.get_xaxis_transform())
    margin = MARGIN * float(targets.max() - targets.min())
    ax.set(xlim=(begin, end), ylim=(float(targets.min()) - margin, float(targets.max()) + margin), ylabel="y")
