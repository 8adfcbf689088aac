"""Tables of scores and times, with the best of each column in bold."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpvae.metrics import LOWER, describe
from gpvae.report.entries import Entry, Group
from gpvae.report.html import Markup, element, joined
from gpvae.report.labels import options_of
from gpvae.report.naming import differing_keys, written
from gpvae.report.seeds import differ, listed, most_shared, numbers, seeds_of, several
from gpvae.report.seeds import written as written_seeds
from gpvae.results.experiments import Interval
from gpvae.results.task_times import Seconds
from gpvae.results.terminal import short

DASH = "–"
NO_M = "no M, for reference"
TIMES = (
    *("Learning: first task", "Learning: mean of tasks", "Learning: all tasks"),
    *("Scoring: all tasks", "Saving: all tasks"),
)
Cell = Interval | None


def score_table(group: Group, configs: Mapping[str, str], over: str) -> Markup:
    """Scores over all tasks at the end of the stream and forgetting, a row for each method.

    Where methods have different seeds, the best is sought among the most that have the same.

    Args:
        group: Methods to compare.
        configs: Where on the page the config of an experiment is, by its folder.
        over: What the numbers are, and of which seeds.
    """
    seeds = most_shared(group)
    rivals = [entry for entry in group.contenders if seeds_of(entry) == seeds]
    columns = [
        (metric, forgetting)
        for metric in group.metrics
        for forgetting in (False, True)
        if any(_known(_at_the_end(entry, metric, forgetting)) for entry in group.entries)
    ]
    cells = [[_at_the_end(entry, metric, forgetting) for metric, forgetting in columns] for entry in group.entries]
    compared = [row if entry in rivals else [] for entry, row in zip(group.entries, cells, strict=True)]
    best = [
        best_rows([row[i] if row else None for row in compared], metric, forgetting)
        for i, (metric, forgetting) in enumerate(columns)
    ]
    top = [
        element(
            "th",
            element("span", describe(metric).label),
            element("small", describe(metric).hint),
            scope="colgroup",
            colspan=count,
        )
        for metric, count in Counter(metric for metric, _ in columns).items()
    ]
    heads = [element("th", text, rowspan=2, scope="col") for text in ("Method", "Seeds", "Tasks")]
    below = [element("th", "forgetting" if forgetting else "all tasks", scope="col") for _, forgetting in columns]
    rows = [
        _row(
            joined(_method(entry, configs), element("small", entry.family if entry in group.contenders else NO_M)),
            _seeds(entry, differ(group)),
            element("td", entry.experiment.num_tasks),
            *[_score(cell, number in best[i]) for i, cell in enumerate(row)],
        )
        for number, (entry, row) in enumerate(zip(group.entries, cells, strict=True))
    ]
    head = element("thead", element("tr", *heads, *top), element("tr", *below))
    interval = " ± half the width of its 95 % interval (Student’s t)" if several(group) else ""
    bold = f" Bold: {_best_of(group, seeds)}." if any(best) else ""
    return boxed(f"{over}{interval}.{bold}", head, element("tbody", *rows))


def _best_of(group: Group, seeds: frozenset[str]) -> str:
    best = "best mean" if several(group) else "best"
    return f"{best}, of the methods with {written_seeds(seeds)}" if differ(group) else best


def _method(entry: Entry, configs: Mapping[str, str]) -> Markup:
    known = configs.get(entry.folder)
    return element("a", entry.label, href=f"#{known}") if known else joined(entry.label)


def _seeds(entry: Entry, which: bool) -> Markup:
    names = numbers(seeds_of(entry))
    return element("td", len(names), element("small", f" ({listed(names)})") if which else "")


def best_rows(cells: Sequence[Cell], metric: str, forgetting: bool) -> set[int]:
    """Which rows of a column are best: all that tie, none where there is nothing to compare.

    Args:
        cells: The column.
        metric: Name of its metric.
        forgetting: Whether it is forgetting, of which less is better.
    """
    target = LOWER if forgetting else describe(metric).best
    known = {i: target.loss(cell.mean) for i, cell in enumerate(cells) if cell is not None and _known(cell)}
    if len(known) < 2:
        return set()
    return {i for i, value in known.items() if value == min(known.values())}


def time_table(group: Group, times: Mapping[Path, Seconds]) -> Markup:
    """Seconds of learning, scoring and saving, a row for each method; nothing where no run has recorded any.

    Args:
        group: Methods to compare.
        times: Seconds by task and activity of each run that has recorded them, by the folder of the run.
    """
    if not any(run in times for entry in group.entries for run in entry.experiment.runs):
        return Markup()
    heads = ["Method", *TIMES, "Runs timed"]
    rows = []
    for entry in group.entries:
        runs = [_columns_of(times[run]) for run in entry.experiment.runs if run in times]
        columns = list(zip(*runs, strict=True)) or [()] * len(TIMES)
        counted = element("td", f"{len(runs)} of {len(entry.experiment.runs)}")
        rows.append(_row(entry.label, *[element("td", in_seconds(column)) for column in columns], counted))
    head = element("thead", element("tr", *[element("th", text, scope="col") for text in heads]))
    return boxed("Seconds: median over seeds, and from the least to the most.", head, element("tbody", *rows))


def _columns_of(times: Seconds) -> list[float]:
    """The times of a run by column: learning the first task, a task and all tasks, then scoring and saving them."""
    learning, scoring, saving = (
        [seconds for (_, activity), seconds in sorted(times.items()) if activity == column]
        for column in ("learning", "scoring", "saving")
    )
    return [learning[0], sum(learning) / len(learning), sum(learning), sum(scoring), sum(saving)]


def options_table(group: Group) -> Markup:
    """The options by which the configs of a group differ, a row for each method; nothing where none do.

    Args:
        group: Methods to compare.
    """
    known = [(entry, options_of(entry.config)) for entry in group.entries if entry.config]
    differing = [key for key in differing_keys([options for _, options in known]) if key != "seed"]
    if not differing:
        return Markup()
    heads = [element("th", text, scope="col") for text in ("Method", *differing)]
    rows = [
        _row(entry.label, *[element("td", _option(options.get(key))) for key in differing]) for entry, options in known
    ]
    return boxed("Options that differ.", element("thead", element("tr", *heads)), element("tbody", *rows))


def boxed(caption: str, *parts: Markup) -> Markup:
    """A table in a box of its own, which scrolls where the table is wider than the screen.

    Args:
        caption: What it shows.
        parts: Head and body.
    """
    table = element("table", element("caption", element("span", caption)), *parts)
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption)


def in_seconds(seconds: Sequence[float]) -> str:
    """Median and range, in few digits: times have a tail, which a mean and its interval would make too much of.

    Args:
        seconds: Those of each run.
    """
    if not seconds:
        return DASH
    median = short(statistics.median(seconds))
    return median if len(seconds) == 1 else f"{median} ({short(min(seconds))} – {short(max(seconds))})"


def _option(value: object) -> str:
    return DASH if value is None else written(value)


def _row(label: str, *cells: Markup) -> Markup:
    return element("tr", element("th", label, scope="row"), *cells)


def _at_the_end(entry: Entry, metric: str, forgetting: bool) -> Cell:
    experiment = entry.experiment
    return experiment.forgetting.get((metric, "")) if forgetting else experiment.final(metric)


def _known(cell: Cell) -> bool:
    return cell is not None and not math.isnan(cell.mean)


def _score(cell: Cell, best: bool) -> Markup:
    text = DASH if cell is None else str(cell)
    return element("td", element("strong", text) if best else joined(text))
