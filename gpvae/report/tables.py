"""Tables of scores, times and options, as `templates/table.html` renders them."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpvae.metrics import LOWER, describe
from gpvae.report import names
from gpvae.report.arrange import differing_keys
from gpvae.report.groups import Entry, Group
from gpvae.results.experiments import Interval
from gpvae.results.task_times import Seconds
from gpvae.results.terminal import format_short

DASH = "–"
NO_INDUCING = "no M, for reference"
TIMES = (
    *("Learning: first task", "Learning: mean of tasks", "Learning: all tasks"),
    *("Scoring: all tasks", "Saving: all tasks"),
)


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Args:
        text: Its text.
        note: Small print after the text.
        link: Id of the element that the text links to.
        bold: Whether the text is bold.
        shade: Number of its background colour, see `heat_maps.shade_rules`.
        span: Number of columns of a heading that groups them; 0 for other cells.
    """

    text: object
    note: str = ""
    link: str = ""
    bold: bool = False
    shade: int | None = None
    span: int = 0


@dataclass(frozen=True)
class Table:
    """A table.

    Args:
        caption: Its caption.
        head: One or two rows of headings; those of the first of two rows that group no columns span both rows.
        rows: Its rows, each beginning with its heading.
    """

    caption: str
    head: Sequence[Sequence[Cell]]
    rows: Sequence[Sequence[Cell]]


def score_table(group: Group, configs: Mapping[str, str], scope: str) -> Table:
    """Scores over all tasks at the end of the stream and forgetting: a row for each method, or for each score of one.

    Where methods have different seeds, bold compares only the methods with the most frequent seeds.

    Args:
        group: Methods to compare.
        configs: Id of the config of each experiment, by its folder.
        scope: What the scores are, and of which seeds.
    """
    columns = [
        (metric, forgetting)
        for metric in (*group.metrics, *group.derived)
        for forgetting in (False, True)
        if any(_is_known(_final(entry, metric, forgetting)) for entry in group.entries)
    ]
    interval = " ± half the width of its 95 % interval (Student’s t)" if group.has_means else ""
    if len(group.entries) == 1:
        return _table_of_one(group.entries[0], columns, configs, f"{scope}{interval}")
    rivals = [entry for entry in group.contenders if entry.seeds == group.most_frequent_seeds]
    compared = [entry if entry in rivals else None for entry in group.entries]
    best = [best_rows([_final(entry, *column) if entry else None for entry in compared], *column) for column in columns]
    rows = []
    for number, entry in enumerate(group.entries):
        method = _method(entry, configs, NO_INDUCING if entry not in group.contenders else "")
        seeds = Cell(len(entry.runs), f" ({names.list_seeds(entry.seeds)})" if group.seeds_differ else "")
        scores = [_score(_final(entry, *column), number in bold) for column, bold in zip(columns, best, strict=True)]
        rows.append([method, seeds, Cell(entry.experiment.num_tasks), *scores])
    counts = Counter(metric for metric, _ in columns)
    top = [Cell(describe(metric).label, describe(metric).hint, span=count) for metric, count in counts.items()]
    head = [
        [*map(Cell, ("Method", "Seeds", "Tasks")), *top],
        [Cell("forgetting" if forgetting else "all tasks") for _, forgetting in columns],
    ]
    bold = f" Bold: {_describe_best(group)}." if any(best) else ""
    return Table(f"{scope}{interval}.{bold}", head, rows)


def _table_of_one(entry: Entry, columns: Sequence[tuple[str, bool]], configs: Mapping[str, str], scope: str) -> Table:
    """The scores of a single method, which has nothing to be compared with, below each other."""
    metrics = dict.fromkeys(metric for metric, _ in columns)
    kinds = sorted({forgetting for _, forgetting in columns})
    head = [_method(entry, configs), *(Cell("forgetting" if forgetting else "all tasks") for forgetting in kinds)]
    rows = [
        [Cell(describe(metric).label, describe(metric).hint), *(_score(_final(entry, metric, kind)) for kind in kinds)]
        for metric in metrics
    ]
    number = entry.experiment.num_tasks
    seeds = f", {names.format_seeds(entry.seeds)}" if len(entry.runs) > 1 else ""
    return Table(f"{scope}. {number} task{'s' if number > 1 else ''}{seeds}.", [head], rows)


def _method(entry: Entry, configs: Mapping[str, str], note: str = "") -> Cell:
    """The name of a method, with its inducing variables or another note; it leads to its config."""
    family = names.family_name(entry.config) if entry.config else ""
    return Cell(entry.label, note or family, configs.get(entry.folder, ""))


def _describe_best(group: Group) -> str:
    best = "best mean" if group.has_means else "best"
    seeds = names.format_seeds(group.most_frequent_seeds)
    return f"{best}, of the methods with {seeds}" if group.seeds_differ else best


def best_rows(cells: Sequence[Interval | None], metric: str, forgetting: bool) -> set[int]:
    """The best rows of a column: several if they tie, none if there is nothing to compare.

    Args:
        cells: The column.
        metric: Name of its metric.
        forgetting: Whether it is forgetting, where lower is better.
    """
    target = LOWER if forgetting else describe(metric).best
    known = {i: target.loss(cell.mean) for i, cell in enumerate(cells) if cell is not None and _is_known(cell)}
    if len(known) < 2:
        return set()
    return {i for i, value in known.items() if value == min(known.values())}


def time_table(group: Group) -> Table | None:
    """Seconds of learning, scoring and saving: a row for each method, or for each time of one; None without times.

    Args:
        group: Methods to compare.
    """
    rows = []
    for entry in group.entries:
        timed = [_time_columns(run.times) for run in entry.runs if run.times]
        columns = list(zip(*timed, strict=True)) or [()] * len(TIMES)
        rows.append([entry.label, *map(format_times, columns), f"{len(timed)} of {len(entry.runs)}"])
    if not any(run.times for entry in group.entries for run in entry.runs):
        return None
    caption = "Seconds: median over seeds, and the range from shortest to longest." if group.has_means else "Seconds."
    heads = ["Method", *TIMES, "Runs timed"]
    if len(rows) == 1:
        heads, *rows = map(list, zip(["", *heads[1:]], rows[0], strict=True))
    return _plain_table(caption, heads, rows)


def _time_columns(times: Seconds) -> list[float]:
    learning, scoring, saving = (
        [seconds for (_, activity), seconds in sorted(times.items()) if activity == column]
        for column in ("learning", "scoring", "saving")
    )
    return [learning[0], sum(learning) / len(learning), sum(learning), sum(scoring), sum(saving)]


def options_table(group: Group) -> Table | None:
    """The options in which the configs of a group differ, a row for each method; None if they agree in all.

    Args:
        group: Methods to compare.
    """
    known = [(entry.label, names.method_options(entry.config)) for entry in group.entries if entry.config]
    keys = [key for key in differing_keys([options for _, options in known]) if key != "seed"]
    if not keys:
        return None
    rows = [[label, *[_format_if_set(options.get(key)) for key in keys]] for label, options in known]
    return _plain_table("Options that differ.", ["Method", *keys], rows)


def format_times(seconds: Sequence[float]) -> str:
    """Median and range in few digits: a mean and its interval would give too much weight to the tail of times.

    Args:
        seconds: One time for each run.
    """
    if not seconds:
        return DASH
    median = format_short(statistics.median(seconds))
    return median if len(seconds) == 1 else f"{median} ({format_short(min(seconds))} – {format_short(max(seconds))})"


def _plain_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(caption, [[Cell(text) for text in heads]], [[Cell(text) for text in row] for row in rows])


def _format_if_set(value: object) -> str:
    return DASH if value is None else names.format_option(value)


def _final(entry: Entry, metric: str, forgetting: bool) -> Interval | None:
    experiment = entry.experiment
    return experiment.forgetting.get((metric, "")) if forgetting else experiment.final(metric)


def _is_known(cell: Interval | None) -> bool:
    return cell is not None and not math.isnan(cell.mean)


def _score(cell: Interval | None, best: bool = False) -> Cell:
    return Cell(DASH if cell is None else cell, bold=best)
