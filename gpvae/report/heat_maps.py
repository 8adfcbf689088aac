"""Forgetting matrices as tables whose cells are coloured: bright is bad."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps

from gpvae.metrics import describe
from gpvae.plotting.colour_scale import COLOURS, ColourScale
from gpvae.report.entries import Entry
from gpvae.report.html import Markup, element
from gpvae.report.tables import boxed
from gpvae.results.terminal import short

#: Shades from best to worst.
SHADES = 24
#: Of more tasks than these, as many are shown, evenly spread, the first and the last among them.
MOST_TASKS = 20


def shade_rules() -> str:
    """CSS of the shades, each with the ink that has more contrast on it."""
    rules = []
    for shade in range(SHADES):
        red, green, blue, _ = colormaps[COLOURS](shade / (SHADES - 1))
        luminance = sum(
            w * channel**2.2 for w, channel in zip((0.2126, 0.7152, 0.0722), (red, green, blue), strict=True)
        )
        colour = "#" + "".join(f"{round(255 * channel):02x}" for channel in (red, green, blue))
        rules.append(f".s{shade}{{background:{colour};color:{'#fff' if luminance < 0.18 else '#000'}}}")
    return "\n".join(rules)


def heat_maps(entries: Sequence[Entry], metric: str) -> list[Markup]:
    """A table for each method that was scored before its last task, all on one scale.

    Args:
        entries: The methods.
        metric: Name of the metric.
    """
    streams = [entry for entry in entries if _has_past(entry, metric)]
    values = np.array([_value(entry, metric, i, j) for entry in streams for i, j in _cells(entry)])
    if not np.isfinite(values).any():
        return []
    scale = ColourScale.of(values, describe(metric))
    return [_heat_map(entry, metric, scale) for entry in streams]


def shown_tasks(num_tasks: int) -> list[int]:
    """The tasks that have a row and a column.

    Args:
        num_tasks: How many there are.
    """
    return sorted({round(task) for task in np.linspace(1, num_tasks, min(num_tasks, MOST_TASKS))})


def _heat_map(entry: Entry, metric: str, scale: ColourScale) -> Markup:
    tasks = shown_tasks(entry.experiment.num_tasks)
    heads = [element("th", task, scope="col") for task in tasks]
    rows = []
    for after in tasks:
        cells = [_cell(_value(entry, metric, after, task), scale) if task <= after else element("td") for task in tasks]
        rows.append(element("tr", element("th", after, scope="row"), *cells))
    some = "" if len(tasks) == entry.experiment.num_tasks else f" ({len(tasks)} of {entry.experiment.num_tasks} tasks)"
    caption = f"{entry.label}: {describe(metric).label} of each task (across) after each task (down){some}"
    corner = element("th", "after", scope="col")
    return boxed(caption, element("thead", element("tr", corner, *heads)), element("tbody", *rows))


def _cell(value: float, scale: ColourScale) -> Markup:
    if math.isnan(value):
        return element("td", "–")
    (share,) = scale.relative_loss(np.array([value]))
    return element("td", short(value), class_=f"s{round(share * (SHADES - 1))}")


def _has_past(entry: Entry, metric: str) -> bool:
    """Whether anything is known of it before the last task."""
    return any(
        after < entry.experiment.num_tasks and task is not None and name == metric
        for after, task, name, _ in entry.experiment.scores
    )


def _cells(entry: Entry) -> list[tuple[int, int]]:
    tasks = shown_tasks(entry.experiment.num_tasks)
    return [(after, task) for after in tasks for task in tasks if task <= after]


def _value(entry: Entry, metric: str, after: int, task: int) -> float:
    cell = entry.experiment.scores.get((after, task, metric, ""))
    return math.nan if cell is None else cell.mean
