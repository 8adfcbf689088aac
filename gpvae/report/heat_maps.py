"""Forgetting matrices as tables with coloured cells: bright is bad."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps

from gpvae.metrics import describe
from gpvae.plotting.colour_scale import COLOURS, ColourScale
from gpvae.report.groups import Entry
from gpvae.report.tables import DASH, Cell, Table
from gpvae.results.terminal import format_short

#: Shades from best to worst.
NUM_SHADES = 24
#: Of more tasks than these, as many are shown, evenly spaced, including the first and the last.
MAX_TASKS = 20


def shade_rules() -> str:
    """CSS rules of the shades, each with the text colour that has more contrast on it."""
    rules = []
    for shade in range(NUM_SHADES):
        rgb = colormaps[COLOURS](shade / (NUM_SHADES - 1))[:3]
        luminance = sum(weight * channel**2.2 for weight, channel in zip((0.2126, 0.7152, 0.0722), rgb, strict=True))
        colour = "#" + "".join(f"{round(255 * channel):02x}" for channel in rgb)
        rules.append(f".s{shade}{{background:{colour};color:{'#fff' if luminance < 0.18 else '#000'}}}")
    return "\n".join(rules)


def heat_maps(entries: Sequence[Entry], metric: str) -> list[Table]:
    """A table for each method that was scored before its last task, all on one scale.

    Args:
        entries: The methods.
        metric: Name of the metric.
    """
    entries = [entry for entry in entries if _has_past(entry, metric)]
    matrices = [_matrix(entry, metric) for entry in entries]
    values = np.concatenate([matrix.ravel() for matrix in matrices]) if matrices else np.array([])
    if not np.isfinite(values).any():
        return []
    scale = ColourScale.of(values, describe(metric))
    return [_heat_map(entry, metric, matrix, scale) for entry, matrix in zip(entries, matrices, strict=True)]


def tasks_to_show(num_tasks: int) -> list[int]:
    """The tasks that have a row and a column.

    Args:
        num_tasks: How many there are.
    """
    return sorted({round(task) for task in np.linspace(1, num_tasks, min(num_tasks, MAX_TASKS))})


def _has_past(entry: Entry, metric: str) -> bool:
    """Whether it was scored before the last task."""
    return any(
        after < entry.experiment.num_tasks and task is not None and name == metric
        for after, task, name, _ in entry.experiment.scores
    )


def _matrix(entry: Entry, metric: str) -> np.ndarray:
    """Mean scores `[after_task, task]` of the tasks to show, NaN where there is none."""
    tasks, scores = tasks_to_show(entry.experiment.num_tasks), entry.experiment.scores
    keys = [[(after, task, metric, "") for task in tasks] for after in tasks]
    return np.array([[scores[key].mean if key in scores else math.nan for key in row] for row in keys])


def _heat_map(entry: Entry, metric: str, matrix: np.ndarray, scale: ColourScale) -> Table:
    num_tasks = entry.experiment.num_tasks
    tasks = tasks_to_show(num_tasks)
    rows = [
        [Cell(after), *[_cell(matrix[i, j], scale) if j <= i else Cell("") for j in range(len(tasks))]]
        for i, after in enumerate(tasks)
    ]
    part = "" if len(tasks) == num_tasks else f" ({len(tasks)} of {num_tasks} tasks)"
    caption = f"{entry.label}: {describe(metric).label} of each task (across) after each task (down){part}"
    return Table(caption, [[Cell("after"), *map(Cell, tasks)]], rows)


def _cell(value: float, scale: ColourScale) -> Cell:
    if math.isnan(value):
        return Cell(DASH)
    (loss,) = scale.relative_loss(np.array([value]))
    return Cell(format_short(value), shade=round(loss * (NUM_SHADES - 1)))
