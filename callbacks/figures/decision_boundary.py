"""The decision boundary: two classes in the plane, the probability of class 1 and the line where it is one half."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from torch import Tensor

from datamodules.splits import Task
from gpvae.modules import StreamingGP
from gpvae.plotting.canvas import BLUE, DARK_ORANGE, INK, add_colour_bar, add_legend, blank_figure, label_axes

#: Colours from class 0 to class 1 through white, paler than the points of either class.
PROBABILITY_COLOURS = LinearSegmentedColormap.from_list("classes", ["#7FB8DA", "white", "#F3CF80"])
#: Class, colour and marker; markers differ so that colour is not needed to tell classes apart.
MARKERS = ((0, BLUE, "o"), (1, DARK_ORANGE, "^"))
RED = "#C80000"
#: Training points drawn for each class; larger sets are thinned.
MAX_POINTS = 1000
#: Margin around the training points, as a fraction of their range.
MARGIN = 0.08


def boundary_figure(module: StreamingGP, tasks: Sequence[Task], num_learnt: int, num_points: int, dpi: int) -> Figure:
    """The probability of class 1 in the plane, the training points and the inducing points.

    Args:
        module: A trained module.
        tasks: The whole stream.
        num_learnt: How many of its tasks have been learnt.
        num_points: Number of grid points along each axis.
        dpi: Pixels per inch.
    """
    figure, ax = blank_figure(5.6, 4.0, dpi)
    first, second = plane_grid(tasks, num_points)
    y = module.predict(torch.cartesian_prod(second, first).flip(-1).to(module.device))
    draw_probability(ax, first, second, y.mean.cpu().reshape(num_points, num_points))
    draw_classes(ax, tasks, num_learnt)
    points = module.gp.inducing.points
    if points is not None:
        draw_inducing_points(ax, points.cpu().flatten(0, -2))
    ax.set_xlim(float(first[0]), float(first[-1]))
    ax.set_ylim(float(second[0]), float(second[-1]))
    label_axes(ax, "x₁", "x₂", f"After task {num_learnt} of {len(tasks)}")
    add_legend(ax)
    return figure


def are_labels(tasks: Sequence[Task]) -> bool:
    """Whether all training targets are 0 or 1.

    Args:
        tasks: The whole stream.
    """
    return all(bool(((task.y_train == 0) | (task.y_train == 1)).all()) for task in tasks)


def plane_grid(tasks: Sequence[Task], num_points: int) -> tuple[Tensor, Tensor]:
    """Coordinates along both axes, `[num_points]` each, of a grid that covers all tasks.

    Args:
        tasks: The whole stream.
        num_points: Number of grid points along each axis.
    """
    x = torch.cat([task.x_train for task in tasks])
    low, high = x.amin(0), x.amax(0)
    margin = torch.where(high > low, MARGIN * (high - low), 1.0)
    begin, end = (low - margin).tolist(), (high + margin).tolist()
    first, second = (torch.linspace(begin[i], end[i], num_points, dtype=x.dtype) for i in (0, 1))
    return first, second


def draw_probability(ax: Axes, first: Tensor, second: Tensor, probability: Tensor) -> None:
    """Filled contours of p(y = 1) with a colour bar, and the line p = 1/2.

    Args:
        ax: Axes.
        first: Grid along the horizontal axis `[G]`.
        second: Grid along the vertical axis `[H]`.
        probability: `[H, G]`.
    """
    p = probability.numpy().clip(0.0, 1.0)
    filled = ax.contourf(first.numpy(), second.numpy(), p, levels=np.linspace(0, 1, 11), cmap=PROBABILITY_COLOURS)
    if p.min() < 0.5 < p.max():
        ax.contour(first.numpy(), second.numpy(), p, levels=[0.5], colors=INK, linewidths=1.4)
    add_colour_bar(ax, filled, "p(y = 1)", ticks=[0, 0.5, 1])


def draw_classes(ax: Axes, tasks: Sequence[Task], num_learnt: int) -> None:
    """Training points by class; those of earlier tasks are paler.

    Args:
        ax: Axes.
        tasks: The whole stream.
        num_learnt: How many of its tasks have been learnt.
    """
    for group, alpha in ((tasks[: num_learnt - 1], 0.45), (tasks[num_learnt - 1 : num_learnt], 1.0)):
        if not group:
            continue
        x, y = torch.cat([task.x_train for task in group]), torch.cat([task.y_train for task in group])
        for label, color, marker in MARKERS:
            chosen = x[y == label]
            chosen = chosen[torch.linspace(0, len(chosen) - 1, min(len(chosen), MAX_POINTS)).round().long()]
            name = f"class {label}" if alpha == 1.0 else None
            style: dict[str, Any] = {"color": color, "mec": "white", "mew": 0.4, "ms": 5, "alpha": alpha, "label": name}
            ax.plot(chosen[:, 0].numpy(), chosen[:, 1].numpy(), marker, **style)


def draw_inducing_points(ax: Axes, points: Tensor) -> None:
    """Inducing points as red crosses.

    Args:
        ax: Axes.
        points: Inputs `[M, 2]`.
    """
    outline = [withStroke(linewidth=2.6, foreground="white")]
    style: dict[str, Any] = {"color": RED, "ms": 5.5, "mew": 1.3, "path_effects": outline, "label": "inducing points"}
    ax.plot(points[:, 0].numpy(), points[:, 1].numpy(), "x", **style)
