"""Tables of scores for the terminal."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from gpvae.metrics import TaskTable
from gpvae.metrics.description import DERIVED, describe
from gpvae.results.experiments import Experiment, Interval

if TYPE_CHECKING:
    from gpvae.metrics import ForesightTable

#: Columns of output to a file or a pipe, which have no width.
WIDTH_WITHOUT_TERMINAL = 120


def console() -> Console:
    """A console on standard output; names and units may hold brackets, which are no markup."""
    terminal = Console(markup=False)
    return terminal if terminal.is_terminal else Console(markup=False, width=WIDTH_WITHOUT_TERMINAL)


def show(text: str) -> None:
    """Print a line as it is, without colours or breaks.

    Args:
        text: The line.
    """
    console().print(text, soft_wrap=True, highlight=False)


def fits(screen: Console, table: Table) -> bool:
    """Whether the console shows the whole table."""
    return screen.measure(table, options=screen.options.update(max_width=10_000)).maximum <= screen.width


def format_short(value: float) -> str:
    """A number in about five characters; a dash for NaN."""
    if math.isnan(value):
        return "–"
    size = abs(value)
    if size < 9.995:
        return f"{value:.2f}"
    if size < 99.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if size < 9999.5 else f"{value:.0e}"


def compact_table() -> Table:
    """A table without borders, with narrow gaps between columns, and without a title, which would be wrapped."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False)


def task_table(scores: np.ndarray, seen: np.ndarray) -> Table:
    """One row after each task, one column for each task, and one for all tasks seen; ten tasks fit 80 columns.

    Args:
        scores: Scores `[after_task, task]`, NaN where there is none.
        seen: Scores over all tasks seen, `[after_task]`.
    """
    table = compact_table()
    table.add_column("", no_wrap=True)
    for task in range(1, len(scores) + 1):
        table.add_column(f"task\n{task}", justify="right", no_wrap=True)
    table.add_column("all\nseen", justify="right", no_wrap=True, style="bold")
    for after_task, row in enumerate(scores, start=1):
        known = [format_short(value) if task <= after_task else "" for task, value in enumerate(row, start=1)]
        table.add_row(f"after {after_task}", *known, format_short(seen[after_task - 1]))
    return table


def end_table(ends: dict[str, tuple[float, float]]) -> Table:
    """One row for each metric: its score over all tasks at the end, forgetting and backward transfer.

    Args:
        ends: Score and forgetting of each metric.
    """
    table = compact_table()
    table.add_column("metric", no_wrap=True)
    for heading in ("all tasks", "forgetting", "backward transfer"):
        table.add_column(f" {heading}", justify="right", no_wrap=True)
    for metric, (score, forgetting) in ends.items():
        table.add_row(metric, f"{score:.4f}", format_signed(forgetting), format_signed(-forgetting))
    return table


def units_table(scores: TaskTable, units: Mapping[str, str]) -> Table:
    """One row for each variable: its RMSE over all tasks at the end, in its unit, and its skill against references.

    Args:
        scores: The scores.
        units: The unit of each variable.
    """
    columns = [name for name in DERIVED if name in scores.metrics]
    table = compact_table()
    for heading in ("variable", " unit"):
        table.add_column(heading, no_wrap=True)
    for name in columns:
        table.add_column(f" {describe(name).label}", justify="right", no_wrap=True)
    for variable in scores.variables:
        values = [scores.seen(name, variable)[-1] for name in columns]
        table.add_row(variable, f" {units.get(variable, '')}", *(f"{value:.3g}" for value in values))
    return table


def lead_table(foresight: "ForesightTable") -> Table:
    """One row for each group of lead times, one column for each metric, over all tasks and variables.

    Args:
        foresight: Prequential scores.
    """
    table = compact_table()
    table.add_column("ahead", no_wrap=True)
    for metric in foresight.metrics:
        table.add_column(f" {metric}", justify="right", no_wrap=True)
    for lead in (*foresight.leads, ""):
        scores = (foresight.score(metric, lead=lead) for metric in foresight.metrics)
        table.add_row(lead or "all", *(format_short(score.value) for score in scores))
    return table


def format_signed(value: float) -> str:
    """A difference, with its sign; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:+.4f}"


def summary_table(experiment: Experiment, tasks: bool) -> Table:
    """Scores at the end of the stream, a column for each metric.

    Args:
        experiment: The experiment.
        tasks: Whether to give each task a row of its own.
    """
    end, metrics = experiment.num_tasks, experiment.metrics
    table = _score_columns("", metrics)
    for task in range(1, end + 1) if tasks else ():
        table.add_row(f"task {task}", *_cells(experiment.scores.get((end, task, metric, "")) for metric in metrics))
    table.add_row("all seen", *_cells(map(experiment.final, metrics)))
    table.add_row("forgetting", *_cells(experiment.forgetting.get((metric, "")) for metric in metrics))
    return table


def variable_table(experiment: Experiment) -> Table:
    """Scores at the end of the stream, a row for each variable, two columns for each metric, one for what is derived.

    Args:
        experiment: The experiment.
    """
    columns = [name for metric in experiment.metrics for name in (metric, f"{metric} forgetting")]
    table = _score_columns("", [*columns, *experiment.derived])
    for variable in experiment.variables:
        pairs = [(experiment.final(m, variable), experiment.forgetting.get((m, variable))) for m in experiment.metrics]
        derived = [experiment.final(metric, variable) for metric in experiment.derived]
        table.add_row(variable, *_cells([*(cell for pair in pairs for cell in pair), *derived]))
    return table


def comparison_table(experiments: Sequence[Experiment]) -> Table:
    """One row for each experiment: scores over all tasks at the end of the stream, and forgetting of the first metric.

    Args:
        experiments: The experiments.
    """
    metrics = list(dict.fromkeys(metric for experiment in experiments for metric in experiment.metrics))
    table = _score_columns(
        "experiment", ["runs", "tasks", *metrics, *(f"{metric} forgetting" for metric in metrics[:1])]
    )
    for experiment in experiments:
        forgetting = [experiment.forgetting.get((metric, "")) for metric in metrics[:1]]
        counts = str(len(experiment.runs)), str(experiment.num_tasks)
        table.add_row(experiment.name, *counts, *_cells([*map(experiment.final, metrics), *forgetting]))
    return table


def _score_columns(heading: str, columns: Sequence[str]) -> Table:
    table = compact_table()
    table.add_column(heading, no_wrap=True)
    for column in columns:
        table.add_column(f"  {column}", justify="right", no_wrap=True)
    return table


def _cells(cells: Iterable[Interval | None]) -> list[str]:
    return ["–" if cell is None else f"  {cell}" for cell in cells]
