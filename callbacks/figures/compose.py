"""Whole figures: what to ask the model, and which drawings to lay over each other."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Bernoulli, Distribution, Normal

from callbacks.figures import decision_boundary, stream
from callbacks.figures.interval import two_sd_interval
from datamodules.splits import Task
from gpvae import OnlineGP
from gpvae.metrics import describe
from gpvae.plotting.canvas import blank, legend_above, name_axes
from gpvae.plotting.heat_map import draw_heat_map


class Predictor(Protocol):
    """What a module must offer to have its predictions drawn."""

    @property
    def device(self) -> torch.device:
        """Where inputs have to be."""

    def predict(self, x: Tensor) -> Distribution:
        """Marginals of y at inputs `[N, D]`."""


def stream_figure(
    module: Predictor, tasks: Sequence[Task], num_seen: int, num_points: int, reconstruction: bool, dpi: int
) -> Figure:
    """A function of one input over the whole stream.

    Args:
        module: A trained module.
        tasks: The whole stream.
        num_seen: How many of its tasks have been learnt.
        num_points: Number of grid points.
        reconstruction: Add the finite-basis reconstruction, where the family has one.
        dpi: Pixels per inch.
    """
    figure, ax = blank(7.2, 2.7, dpi)
    grid = torch.linspace(*stream.input_range(tasks), num_points, dtype=tasks[0].x_train.dtype)
    y = module.predict(grid[:, None].to(module.device))
    interval = two_sd_interval(y)
    names = {Normal: "mean ± 2 sd", Bernoulli: "p(y = 1)"}
    name = next((text for kind, text in names.items() if isinstance(y, kind)), "mean, 95 % interval")
    ends = None if interval is None else (interval[0].cpu(), interval[1].cpu())
    stream.draw_prediction(ax, grid, y.mean.cpu(), ends, name)
    stream.draw_tasks(ax, tasks, num_seen)
    points = _inducing_points(module)
    if points is not None:
        stream.draw_inducing_inputs(ax, points[:, 0])
    if reconstruction and isinstance(y, Normal):  # elsewhere f and y are on different scales
        _, seen_until = stream.input_range(tasks[:num_seen])
        seen = grid[grid <= seen_until]
        mean = _reconstructed(module, seen)
        if mean is not None:
            stream.draw_reconstruction(ax, seen, mean)
    name_axes(ax, "x", "y", f"After task {num_seen} of {len(tasks)}")
    legend_above(ax)
    return figure


def boundary_figure(module: Predictor, tasks: Sequence[Task], num_seen: int, num_points: int, dpi: int) -> Figure:
    """Two classes in the plane and the line between them.

    Args:
        module: A trained module.
        tasks: The whole stream.
        num_seen: How many of its tasks have been learnt.
        num_points: Number of grid points along each axis.
        dpi: Pixels per inch.
    """
    figure, ax = blank(5.6, 4.0, dpi)
    first, second = decision_boundary.plane_grid(tasks, num_points)
    y = module.predict(torch.cartesian_prod(second, first).flip(-1).to(module.device))
    decision_boundary.draw_probability(ax, first, second, y.mean.cpu().reshape(num_points, num_points))
    decision_boundary.draw_classes(ax, tasks, num_seen)
    points = _inducing_points(module)
    if points is not None:
        decision_boundary.draw_inducing_places(ax, points)
    ax.set_xlim(float(first[0]), float(first[-1]))
    ax.set_ylim(float(second[0]), float(second[-1]))
    name_axes(ax, "x₁", "x₂", f"After task {num_seen} of {len(tasks)}")
    legend_above(ax)
    return figure


def forgetting_figure(matrix: NDArray[np.float64], metric: str, dpi: int, note: str = "") -> Figure:
    """A metric of each task after each task.

    Args:
        matrix: `[after, task]`, NaN where there is no value; at least one is finite.
        metric: Name of the metric.
        dpi: Pixels per inch.
        note: What the title adds about the data.
    """
    figure, ax = blank(5.6, 4.4, dpi)
    description = describe(metric)
    draw_heat_map(ax, matrix, description)
    name_axes(ax, "task", "after task", f"{description.label} of each task, as the stream goes on{note}")
    return figure


def _inducing_points(module: Predictor) -> Tensor | None:
    """`[M, D]`, of all latent dimensions together; None where there are none."""
    gp = getattr(module, "gp", None)
    points = gp.inducing.points if isinstance(gp, OnlineGP) else None
    return None if points is None else points.cpu().flatten(0, -2)


def _reconstructed(module: Predictor, x: Tensor) -> Tensor | None:
    """The mean of the reconstruction at inputs `[N]`; None where the family has no basis."""
    gp = getattr(module, "gp", None)
    if not isinstance(gp, OnlineGP):
        return None
    try:
        return gp.reconstruct(x[:, None].to(module.device)).mean.cpu()
    except NotImplementedError:
        return None
