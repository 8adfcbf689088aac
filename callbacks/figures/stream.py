"""Regression on one input along a stream: the prediction, the training points and the inducing points."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from torch.distributions import Bernoulli, Normal

from callbacks.figures.interval import two_sd_interval
from datamodules.splits import Task
from gpvae.modules import StreamingGP
from gpvae.plotting.canvas import BLUE, GREY, INK, PALE, SMALL, VERMILLION, add_legend, blank_figure, label_axes

#: Lines between tasks are drawn up to this many tasks.
MAX_BOUNDARIES = 50
#: Training points drawn in one colour; larger sets are thinned.
MAX_POINTS = 2000
#: Margin above and below the targets, as a fraction of their range.
MARGIN = 0.25
#: Tasks to come are labelled if they take up at least this fraction of the axis.
MIN_SHARE_FOR_LABEL = 0.15


def stream_figure(
    module: StreamingGP, tasks: Sequence[Task], num_learnt: int, num_points: int, reconstruction: bool, dpi: int
) -> Figure:
    """The prediction over the inputs of the whole stream.

    Args:
        module: A trained module.
        tasks: The whole stream.
        num_learnt: How many of its tasks have been learnt.
        num_points: Number of grid points.
        reconstruction: Add the finite-basis reconstruction, where the family has one.
        dpi: Pixels per inch.
    """
    figure, ax = blank_figure(7.2, 2.7, dpi)
    grid = torch.linspace(*input_range(tasks), num_points, dtype=tasks[0].x_train.dtype)
    y = module.predict(grid[:, None].to(module.device))
    interval = two_sd_interval(y)
    names = {Normal: "mean ± 2 sd", Bernoulli: "p(y = 1)"}
    name = next((text for kind, text in names.items() if isinstance(y, kind)), "mean, 95 % interval")
    ends = None if interval is None else (interval[0].cpu(), interval[1].cpu())
    draw_prediction(ax, grid, y.mean.cpu(), ends, name)
    draw_tasks(ax, tasks, num_learnt)
    points = module.gp.inducing.points
    if points is not None:
        draw_inducing_points(ax, points.cpu().flatten(0, -2)[:, 0])
    if reconstruction and isinstance(y, Normal):  # elsewhere f and y are on different scales
        _, seen_until = input_range(tasks[:num_learnt])
        draw_reconstruction(ax, module, grid[grid <= seen_until])
    label_axes(ax, "x", "y", f"After task {num_learnt} of {len(tasks)}")
    add_legend(ax)
    return figure


def input_range(tasks: Sequence[Task]) -> tuple[float, float]:
    """The smallest and the largest input of some tasks, in the first dimension.

    Args:
        tasks: The tasks.
    """
    x = torch.cat([task.x_train.reshape(len(task.x_train), -1)[:, 0] for task in tasks])
    return float(x.min()), float(x.max())


def task_boundaries(tasks: Sequence[Task]) -> list[float]:
    """The first input of each task but the first; empty if tasks overlap, since no line separates them.

    Args:
        tasks: The whole stream.
    """
    ranges = [input_range([task]) for task in tasks]
    in_order = all(end <= begin for (_, end), (begin, _) in pairwise(ranges))
    return [begin for begin, _ in ranges[1:]] if in_order else []


def draw_prediction(ax: Axes, x: Tensor, mean: Tensor, interval: tuple[Tensor, Tensor] | None, name: str) -> None:
    """The predictive mean as a line, and an interval as a band around it.

    Args:
        ax: Axes.
        x: Inputs `[G]`, in order.
        mean: Mean `[G]`.
        interval: Lower and upper end `[G]`, or None for the mean alone.
        name: Label in the legend.
    """
    if interval is not None:
        lower, upper = interval
        ax.fill_between(x.numpy(), lower.numpy(), upper.numpy(), color=BLUE, alpha=0.18, lw=0, zorder=1)
    ax.plot(x.numpy(), mean.numpy(), color=BLUE, lw=1.5, label=name, zorder=3)


def draw_reconstruction(ax: Axes, module: StreamingGP, x: Tensor) -> None:
    """The mean of the finite-basis reconstruction; nothing if the inducing variables have no basis.

    Args:
        ax: Axes.
        module: A trained module.
        x: Inputs `[G]`, in order.
    """
    try:
        mean = module.gp.reconstruct(x[:, None].to(module.device)).mean.cpu()
    except NotImplementedError:
        return
    style = (0, (4, 2))
    ax.plot(x.numpy(), mean.numpy(), color=VERMILLION, lw=1.2, ls=style, label="reconstruction", zorder=4)


def draw_tasks(ax: Axes, tasks: Sequence[Task], num_learnt: int) -> None:
    """The training points seen so far, with the last task darker; task boundaries; the tasks to come, shaded.

    The axes cover the whole stream, so that figures after different tasks can be compared.

    Args:
        ax: Axes.
        tasks: The whole stream.
        num_learnt: How many of its tasks have been learnt.
    """
    begin, end = input_range(tasks)
    y = torch.cat([task.y_train for task in tasks])
    margin = MARGIN * float(y.max() - y.min()) or 1.0
    never_negative = bool(((y >= 0) & (y == y.round())).all())  # counts and labels
    ax.set_xlim(begin, end if end > begin else begin + 1)
    ax.set_ylim(float(y.min()) - (margin / 2 if never_negative else margin), float(y.max()) + margin)

    if num_learnt > 1:
        _draw_points(ax, tasks[: num_learnt - 1], GREY, "earlier tasks")
    _draw_points(ax, [tasks[num_learnt - 1]], INK, "this task")

    edges = task_boundaries(tasks)
    if len(tasks) <= MAX_BOUNDARIES:
        for edge in edges:
            ax.axvline(edge, color=GREY, lw=0.6, ls=":", zorder=0.5)
    if edges and num_learnt < len(tasks):
        _shade_future(ax, edges[num_learnt - 1], end, (end - edges[num_learnt - 1]) / (end - begin))


def draw_inducing_points(ax: Axes, points: Tensor) -> None:
    """Inducing points as ticks on the lower edge.

    Args:
        ax: Axes.
        points: Inputs `[M]`.
    """
    ax.plot(
        points.numpy(),
        torch.full_like(points, 0.03).numpy(),
        "|",
        color=VERMILLION,
        ms=7,
        mew=1.1,
        transform=ax.get_xaxis_transform(),
        label="inducing points",
        zorder=4,
    )


def _draw_points(ax: Axes, tasks: Sequence[Task], color: str, name: str) -> None:
    x = torch.cat([task.x_train.reshape(len(task.x_train), -1)[:, 0] for task in tasks])
    y = torch.cat([task.y_train for task in tasks])
    some = torch.linspace(0, len(x) - 1, min(len(x), MAX_POINTS), dtype=torch.float64).round().long()
    ax.plot(x[some].numpy(), y[some].numpy(), ".", color=color, ms=4, mew=0, label=name, zorder=2)


def _shade_future(ax: Axes, begin: float, end: float, share: float) -> None:
    ax.axvspan(begin, end, color=PALE, lw=0, zorder=0)
    if share >= MIN_SHARE_FOR_LABEL:
        style: dict[str, Any] = {"color": GREY, "fontsize": SMALL, "ha": "center", "va": "top"}
        ax.text((begin + end) / 2, 0.97, "still to come", transform=ax.get_xaxis_transform(), **style)
