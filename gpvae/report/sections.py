"""The section of a group: table, charts, forgetting, predictions, times and configs of the methods to compare."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from callbacks.figures.reports import NAMES, hint
from gpvae.report import charts, clock, tables
from gpvae.report.entries import Entry, Group
from gpvae.report.heat_maps import heat_maps
from gpvae.report.html import Markup, element, joined
from gpvae.report.palette import Styles
from gpvae.report.pictures import data_uri, last_pictures
from gpvae.report.svg import to_svg


def group_section(group: Group, name: str, data: str, styles: Styles, times: Mapping[Path, Sequence[float]]) -> Markup:
    """All about a group.

    Args:
        group: Methods to compare.
        name: The id of the section.
        data: Title of the data set.
        styles: How each method is drawn.
        times: Seconds of each task, by the folder of the run; runs that have recorded none are not there.
    """
    notes = [element("p", f"{entry.label}: {note}", class_="soft") for entry in group.entries for note in entry.notes]
    parts = {
        "Scores": joined(tables.score_table(group), *notes),
        "Over the tasks seen": _curves(group, name, styles),
        "Forgetting": _forgetting(group),
        "Predictions after the last task": _predictions(group),
        "Time": _times(group, times),
        "Configs": _configs(group),
    }
    shown = [element("section", element("h4", title), part) for title, part in parts.items() if part]
    return element("section", element("h3", f"{data}, {group.title}"), *shown, id=name, class_="group")


def _curves(group: Group, name: str, styles: Styles) -> Markup:
    keys = [
        element("li", to_svg(charts.swatch(styles[entry.identity]), f"{name}-key{n}", ""), entry.label)
        for n, entry in enumerate(group.entries)
    ]
    figures = []
    for n, metric in enumerate(group.metrics):
        title = f"{NAMES.get(metric, metric)} over all tasks seen{hint(metric)}"
        if drawn := charts.over_tasks(group.entries, styles, metric):
            figures.append(_figure(to_svg(drawn, f"{name}-seen{n}", f"Line chart: {title}"), title))
    for n, metric in enumerate(group.metrics[:1]):
        title = f"{NAMES.get(metric, metric)} of single tasks: just learnt (hollow) and at the end (filled)"
        if drawn := charts.learnt_and_at_the_end(group.entries, styles, metric):
            figures.append(_figure(to_svg(drawn, f"{name}-tasks{n}", f"Chart: {title}"), title))
    return joined(element("ul", *keys, class_="legend"), element("div", *figures, class_="charts"))


def _figure(content: Markup, caption: object) -> Markup:
    return element("figure", element("figcaption", caption), content)


def _forgetting(group: Group) -> Markup:
    """The first metric in sight, the others to be opened."""
    parts: list[Markup] = []
    for metric in group.metrics:
        if maps := heat_maps(group.entries, metric):
            shown = element("div", *maps, class_="maps")
            title = f"{NAMES.get(metric, metric)} of each task after each task"
            parts.append(shown if not parts else element("details", element("summary", title), shown))
    if not parts:
        return Markup()
    said = "Mean over seeds, one scale for all methods: bright is bad. A column that brightens downwards is forgotten."
    return joined(element("p", said, class_="soft"), *parts)


def _predictions(group: Group) -> Markup:
    figures = [figure for entry in group.entries for figure in _pictures(entry)]
    return element("div", *figures, class_="pictures") if figures else Markup()


def _pictures(entry: Entry) -> list[Markup]:
    """What the first run drew."""
    run = entry.experiment.runs[0]
    figures = []
    for path in last_pictures(run, entry.experiment.num_tasks):
        what = path.stem.rstrip("0123456789").rstrip("_").replace("_", " ")
        caption = f"{entry.label}, {run.name}: {what}"
        try:
            source, width, height = data_uri(path)
        except ValueError as error:
            figures.append(element("p", f"{caption}: {error}", class_="soft"))
            continue
        alt = f"{what.capitalize()} of {entry.label} after the last task"
        figures.append(_figure(element("img", src=source, alt=alt, width=width, height=height), caption))
    return figures


def _times(group: Group, times: Mapping[Path, Sequence[float]]) -> Markup:
    table = tables.time_table(group, times)
    return joined(table, element("p", clock.MEASURED, class_="soft")) if table else table


def _configs(group: Group) -> Markup:
    texts = []
    for entry in group.entries:
        if entry.config is None:
            texts.append(element("p", f"{entry.label}: no config", class_="soft"))
            continue
        first = entry.experiment.runs[0].name
        title = element("summary", f"{entry.label}: config.yaml of {entry.folder}/{first}")
        texts.append(element("details", title, element("pre", entry.config.text)))
    return joined(tables.options_table(group), *texts)
