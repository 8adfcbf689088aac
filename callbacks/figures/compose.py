"""The figures of a run: predictions, by the kind of model and data, and scores."""

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from callbacks.figures.decision_boundary import are_labels, boundary_figure
from callbacks.figures.foresight import foresight_figure
from callbacks.figures.reconstructions import reconstructions_figure
from callbacks.figures.skill import skill_figure
from callbacks.figures.stream import stream_figure
from datamodules import PointStream, TaskStream
from datamodules.era5 import SeriesStream
from gpvae.metrics import ForesightTable, TaskTable
from gpvae.metrics.description import DERIVED
from gpvae.modules import ContinualModule, SeriesModule, StreamingGP
from gpvae.plotting.heat_map import forgetting_figure

#: A grid over the plane has this many times fewer points along each axis than a grid over the line.
COARSER = 5


def prediction_figures(
    module: ContinualModule, stream: TaskStream, num_points: int, reconstruction: bool, dpi: int
) -> Iterator[tuple[str, Figure]]:
    """Name and figure of what a module predicts after the last task it has learnt, if any figure applies.

    Args:
        module: A trained module.
        stream: The stream that it learns.
        num_points: Number of grid points along a line.
        reconstruction: Add the finite-basis reconstruction, where the family has one.
        dpi: Pixels per inch.
    """
    num_learnt = module.learned
    if isinstance(module, StreamingGP) and isinstance(stream, PointStream):
        if stream.input_dim == 1:
            yield "stream", stream_figure(module, stream.tasks, num_learnt, num_points, reconstruction, dpi)
        elif stream.input_dim == 2 and are_labels(stream.tasks):
            yield "decision_boundary", boundary_figure(module, stream.tasks, num_learnt, num_points // COARSER, dpi)
    elif isinstance(module, SeriesModule) and isinstance(stream, SeriesStream):
        yield "reconstructions", reconstructions_figure(module.series_model, stream, num_learnt, num_points, dpi)


def score_figures(
    table: TaskTable, foresight: ForesightTable, stream: TaskStream, last: bool, dpi: int
) -> Iterator[tuple[str, Figure]]:
    """Tag and figure of the scores: the first metric after each task, all metrics and variables after the last.

    Args:
        table: The scores so far.
        foresight: The prequential scores so far.
        stream: The stream that was learnt; forgetting matrices have room for all of its tasks.
        last: Whether the last task has been learnt.
        dpi: Pixels per inch.
    """
    note = ", synthetic data" if isinstance(stream, SeriesStream) and stream.synthetic else ""
    missing = (0, max(stream.num_tasks - table.num_tasks, 0))
    metrics = [metric for metric in table.metrics if metric not in DERIVED]
    for metric in metrics if last else metrics[:1]:  # the last matrices hold all rows
        matrix = np.pad(table.matrix(metric), missing, constant_values=np.nan)
        if np.isfinite(matrix).any():
            yield f"forgetting/{metric}", forgetting_figure(matrix, metric, dpi, note)
    if last and table.variables:
        yield "skill", skill_figure(table, note, dpi, metrics)
        if skills := [metric for metric in table.metrics if metric.startswith("skill_")]:
            yield "skill_over_references", skill_figure(table, note, dpi, skills)
    if last and foresight.tasks:
        unit = "hours" if isinstance(stream, SeriesStream) else "points"
        yield "foresight", foresight_figure(foresight, unit, note, dpi)
