"""The figure of reconstructed series: a few locations and variables, in physical units."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from callbacks.figures import time_panels
from callbacks.figures.series_predictions import (
    SeriesModel,
    Span,
    distant_series,
    representative_variables,
    task_spans,
)
from datamodules.era5 import SeriesStream
from gpvae.plotting.canvas import INK, LABEL, SMALL, TITLE, style_axes
from gpvae.plotting.units import readable_location, readable_units

#: Sizes in inches.
WIDTH, ROW, TOP, BOTTOM, LEFT, RIGHT = 10.0, 1.25, 0.66, 0.45, 0.75, 0.1


def reconstructions_figure(
    model: SeriesModel, stream: SeriesStream, num_learnt: int, num_points: int, dpi: int
) -> Figure:
    """Predictions for the first task and the last two by the present model, over the observations.

    Args:
        model: A trained model.
        stream: The stream that it has learnt from.
        num_learnt: How many tasks have been learnt.
        num_points: Number of grid points along the time axis.
        dpi: Pixels per inch.
    """
    series, variables = distant_series(stream), representative_variables(stream)
    parts = task_spans(num_learnt)
    num_tasks = sum(map(len, parts))
    spans = [Span.predict(model, stream, tasks, series, num_points * len(tasks) // num_tasks) for tasks in parts]
    figure = Figure((WIDTH, TOP + ROW * len(variables) + BOTTOM), dpi=dpi, facecolor="white")
    grid = _axes(figure, len(variables), len(series), [len(tasks) for tasks in parts])
    for row, variable in enumerate(variables):
        factor, label = _scale_and_label(stream, spans, variable)
        for column, number in enumerate(series.tolist()):
            panels = list(grid[row, column])
            _draw_panels(panels, stream, spans, column, variable, factor)
            if row == 0:
                _label_tasks(panels, stream, spans)
                panels[0].set_title(_location(stream, number), fontsize=LABEL, color=INK, loc="left", pad=14)
        grid[row, 0, 0].set_ylabel(label, fontsize=LABEL, color=INK)
    for ax in grid[:-1].flat:
        time_panels.hide_date_labels(ax)
    figure.align_ylabels(grid[:, 0, 0])
    note = ", synthetic weather" if stream.synthetic else ""
    title = f"After task {num_learnt} of {stream.num_tasks}{note}"
    top = 1 - 0.06 / figure.get_figheight()
    figure.suptitle(title, x=0.01, y=top, ha="left", va="top", fontsize=TITLE, color=INK)
    handles, names = grid[0, 0, 0].get_legend_handles_labels()
    options = {"frameon": False, "fontsize": SMALL, "labelcolor": INK, "markerscale": 2.0, "columnspacing": 1.4}
    figure.legend(handles, names, loc="upper right", ncols=len(names), borderaxespad=0.2, **options)
    return figure


def _axes(figure: Figure, num_rows: int, num_columns: int, lengths: Sequence[int]) -> NDArray[Any]:
    """Axes `[row, column, span]`, with fixed margins: an automatic layout would take longer to draw."""
    height = figure.get_figheight()
    ends = {"left": LEFT / WIDTH, "right": 1 - RIGHT / WIDTH, "top": 1 - TOP / height, "bottom": BOTTOM / height}
    outer = figure.add_gridspec(num_rows, num_columns, **ends, wspace=0.13, hspace=0.16)
    grid = np.empty((num_rows, num_columns, len(lengths)), dtype=object)
    for row, column in np.ndindex(num_rows, num_columns):
        inner = outer[row, column].subgridspec(1, len(lengths), width_ratios=lengths, wspace=0.09)
        grid[row, column] = [figure.add_subplot(inner[0, span]) for span in range(len(lengths))]
    return grid


def _scale_and_label(stream: SeriesStream, spans: Sequence[Span], v: int) -> tuple[float, str]:
    """The factor by which a variable is multiplied to be drawn, and the label of its axis."""
    largest = max(float(np.nanmax(np.abs(span.mean[..., v]))) for span in spans)
    factor, units = readable_units(stream.units[v], largest)
    return factor, f"{stream.variables[v].short_name} ({units})"


def _draw_panels(
    panels: Sequence[Axes], stream: SeriesStream, spans: Sequence[Span], b: int, v: int, factor: float
) -> None:
    """One variable at one location, over all spans."""
    observed = np.concatenate([values[b, :, v] for span in spans for _, values in (span.train, span.test)])
    for ax, span in zip(panels, spans, strict=True):
        style_axes(ax)
        mean, lower, upper = (factor * part[b, :, v] for part in (span.mean, span.lower, span.upper))
        time_panels.draw_prediction(ax, _dates(stream, span.times), mean, lower, upper, "90 % interval")
        for (hours, values), held_out in ((span.train, False), (span.test, True)):
            time_panels.draw_observations(ax, _dates(stream, hours), factor * values[b, :, v], held_out)
        edges = _dates(stream, np.array(span.edges))
        time_panels.draw_task_boundaries(ax, edges[1:-1])
        time_panels.format_date_axis(ax, edges[0], edges[-1])
        ax.set_ylim(*time_panels.value_limits(factor * observed))
    for left, right in pairwise(panels):
        time_panels.draw_axis_break(left, right)


def _label_tasks(panels: Sequence[Axes], stream: SeriesStream, spans: Sequence[Span]) -> None:
    for ax, span in zip(panels, spans, strict=True):
        middles = [(begin + end) / 2 for begin, end in pairwise(span.edges)]
        begins = np.array([stream.begin_of(task) for task in range(stream.num_learnt)])
        names = [f"task {np.searchsorted(begins, hour, side='right')}" for hour in middles]
        time_panels.label_tasks(ax, _dates(stream, np.array(middles)), names)


def _dates(stream: SeriesStream, hours: NDArray[np.float64]) -> time_panels.Dates:
    return stream.coordinates.origin + (3600 * hours).round().astype("timedelta64[s]")


def _location(stream: SeriesStream, number: int) -> str:
    return readable_location(float(stream.coordinates.latitude[number]), float(stream.coordinates.longitude[number]))
