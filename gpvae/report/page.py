"""The whole page: what it is, what it holds, a section for each data set, what was left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gpvae.report.entries import DataSet
from gpvae.report.html import Markup, element, joined
from gpvae.report.palette import styles_of
from gpvae.report.sections import group_section
from gpvae.report.style import style_sheet
from gpvae.results.experiments import Experiment
from gpvae.results.task_times import Seconds
from gpvae.utils import provenance

#: Nothing is loaded, run or sent: pictures and rules are in the page.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
READING = (
    "“All tasks” are scores over the test points of all tasks after the last one; forgetting is by how much worse "
    "earlier tasks are then than when they had just been learnt, on average (less is better; below zero they became "
    "better). Intervals are those of 95 % for the mean over seeds: ± in tables, bands and pale bars in charts. Those "
    "of two seeds are very wide; with one seed there is none. Charts cut off what lies far outside the rest. Names of "
    "methods in tables of scores lead to their configs."
)


@dataclass(frozen=True)
class Report:
    """What a page shows.

    Args:
        title: Its title.
        made: When it was made.
        data_sets: All experiments.
        times: Seconds by task and activity of each run that has recorded them, by the folder of the run.
        untimed: Why times of runs are not known, by run.
        left_out: Why runs are not reported, by run.
    """

    title: str
    made: datetime
    data_sets: Sequence[DataSet]
    times: Mapping[Path, Seconds]
    untimed: Mapping[str, str]
    left_out: Mapping[str, str]

    @property
    def num_experiments(self) -> int:
        """How many experiments it shows."""
        return len(self._experiments())

    @property
    def num_runs(self) -> int:
        """How many runs they have."""
        return sum(len(experiment.runs) for experiment in self._experiments())

    def _experiments(self) -> list[Experiment]:
        """Each once, in however many groups it is."""
        groups = [group for data_set in self.data_sets for group in data_set.groups]
        return list({entry.folder: entry.experiment for group in groups for entry in group.entries}.values())


def whole_page(report: Report, step: Callable[[], object] = lambda: None) -> str:
    """The page as text.

    Args:
        report: What it shows.
        step: Called after each group of experiments.
    """
    groups = [group for data_set in report.data_sets for group in data_set.groups]
    styles = styles_of([entry.identity for entry in group.entries] for group in groups)
    sections = []
    for number, data_set in enumerate(report.data_sets, start=1):
        parts = []
        for count, group in enumerate(data_set.groups, start=1):
            parts.append(group_section(group, f"d{number}-m{count}", data_set.title, styles, report.times))
            step()
        sections.append(element("section", element("h2", data_set.title), *parts, id=f"d{number}"))
    body = element("main", _opening(report), *sections, _endnotes(report))
    return "<!DOCTYPE html>\n" + element("html", _head(report.title), element("body", body), lang="en")


def _head(title: str) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style_sheet())),
    )


def _opening(report: Report) -> Markup:
    counted = f"{_some(report.num_experiments, 'experiment')}, {_some(report.num_runs, 'run')}"
    if report.left_out:
        counted = joined(counted, ", ", element("a", f"{len(report.left_out)} left out", href="#left-out"))
    made = element(
        "time", report.made.strftime("%Y-%m-%d %H:%M %Z").strip(), datetime=report.made.isoformat("T", "minutes")
    )
    facts = joined(
        "Scores of streams of tasks: ", counted, ". This page was made ", made, f" by {provenance.program()}."
    )
    return joined(
        element("h1", report.title), element("p", facts), _contents(report), element("p", READING, class_="soft")
    )


def _contents(report: Report) -> Markup:
    items = []
    for number, data_set in enumerate(report.data_sets, start=1):
        groups = [
            element(
                "li", element("a", group.title, href=f"#d{number}-m{count}"), f": {_some(len(group.entries), 'method')}"
            )
            for count, group in enumerate(data_set.groups, start=1)
        ]
        items.append(element("li", element("a", data_set.title, href=f"#d{number}"), element("ul", *groups)))
    if report.left_out:
        items.append(element("li", element("a", "Runs left out", href="#left-out")))
    return element("nav", element("ul", *items), aria_label="Contents")


def _endnotes(report: Report) -> Markup:
    listed = (("left-out", "Runs left out", report.left_out), ("untimed", "Runs without times", report.untimed))
    parts = []
    for name, title, reasons in listed:
        if reasons:
            items = [element("li", element("strong", run), ": ", reason) for run, reason in reasons.items()]
            parts.append(element("section", element("h2", title), element("ul", *items), id=name))
    return joined(*parts)


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
