"""The section of a group: table, charts, forgetting, predictions, times and configs of the methods to compare."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpvae.metrics import describe
from gpvae.report import charts, seeds, tables
from gpvae.report.entries import Entry, Group
from gpvae.report.heat_maps import heat_maps
from gpvae.report.html import Markup, element, joined
from gpvae.report.palette import Styles
from gpvae.report.pictures import data_uri, last_pictures
from gpvae.report.svg import to_svg
from gpvae.results.task_times import Seconds

TIMES = (
    "Wall-clock seconds, from task_times.csv of each run. Learning is all of the training that is not scoring, drawing "
    "or saving; that of the first task may include finding the hyperparameters of the kernel. Scoring is the "
    "evaluation on all tasks so far, after each task, and saving is writing checkpoints. Drawing figures is not "
    "counted. Times from different machines cannot be compared."
)


def group_section(group: Group, name: str, data: str, styles: Styles, times: Mapping[Path, Seconds]) -> Markup:
    """All about a group.

    Args:
        group: Methods to compare.
        name: The id of the section.
        data: Title of the data set.
        styles: How each method is drawn.
        times: Seconds by task and activity of each run that has recorded them, by the folder of the run.
    """
    notes = [element("p", f"{entry.label}: {note}", class_="soft") for entry in group.entries for note in entry.notes]
    shared = seeds.common(group) if seeds.differ(group) else frozenset()
    alike = seeds.on(group, shared) if shared else group
    which = f", on {seeds.written(shared)}" if shared else ""
    configs = {entry.folder: f"{name}-config{n}" for n, entry in enumerate(group.entries) if entry.config}
    parts = {
        "Scores": joined(_scores(group, alike, configs), *notes),
        "Over the tasks seen": joined(
            _legend(group, name, styles),
            _charts(alike, name, styles, which),
            _opened("The same over all seeds that each method has", _charts(group, f"{name}-all", styles, ""))
            if shared
            else "",
        ),
        "Forgetting": _forgetting(alike, which),
        "Predictions after the last task": _predictions(group, shared),
        "Time": _times(group, times),
        "Configs": _configs(group, configs),
    }
    shown = [element("section", element("h4", title), part) for title, part in parts.items() if part]
    return element("section", element("h3", f"{data}, {group.title}"), *shown, id=name, class_="group")


def _scores(group: Group, alike: Group, configs: Mapping[str, str]) -> Markup:
    """The table and, where methods have different seeds, what that means and a table on those they share."""
    if not seeds.differ(group):
        over = ": mean over seeds" if seeds.several(group) else f", on {_single(group)}"
        return tables.score_table(group, configs, f"After the last task{over}")
    over = ": mean over the seeds that each method has" if seeds.several(group) else f", on {_single(group)}"
    own = tables.score_table(group, configs, f"After the last task{over}")
    shared = seeds.common(group)
    said = "Not all methods were run with the same seeds, so not all of these means compare. "
    if not shared:
        return joined(own, element("p", said + "No seed is common to all of them; charts are over what each has."))
    said += f"All have {seeds.written(shared)}: the next table and the charts are on {_them(shared)} alone."
    over = f"All methods on {seeds.written(shared)}, after the last task{': mean' if seeds.several(alike) else ''}"
    return joined(own, element("p", said), tables.score_table(alike, configs, over))


def _them(shared: frozenset[str]) -> str:
    return "it" if len(shared) == 1 else "them"


def _legend(group: Group, name: str, styles: Styles) -> Markup:
    keys = [
        element("li", to_svg(charts.swatch(styles[entry.identity]), f"{name}-key{n}", ""), entry.label)
        for n, entry in enumerate(group.entries)
    ]
    return element("ul", *keys, class_="legend")


def _charts(group: Group, name: str, styles: Styles, which: str) -> Markup:
    figures = []
    for n, metric in enumerate(group.metrics):
        title = f"{describe(metric).label} over all tasks seen{which}{describe(metric).hint}"
        if drawn := charts.over_tasks(group.entries, styles, metric):
            figures.append(_figure(to_svg(drawn, f"{name}-seen{n}", f"Line chart: {title}"), title))
    for n, metric in enumerate(group.metrics[:1]):
        tasks = _tasks(group.entries)
        title = f"{describe(metric).label} of {tasks}{which}: just learnt (hollow) and at the end (filled)"
        if drawn := charts.learnt_and_at_the_end(group.entries, styles, metric):
            figures.append(_figure(to_svg(drawn, f"{name}-tasks{n}", f"Chart: {title}"), title))
    return element("div", *figures, class_="charts")


def _tasks(entries: Sequence[Entry]) -> str:
    """Which tasks are shown one by one, where not all are."""
    end = max(entry.experiment.num_tasks for entry in entries)
    *shown, last = charts.some_tasks(end)
    return "single tasks" if len(shown) == end - 1 else f"tasks {', '.join(map(str, shown))} and {last} of {end}"


def _opened(title: str, content: Markup) -> Markup:
    return element("details", element("summary", title), content)


def _figure(content: Markup, caption: object) -> Markup:
    return element("figure", element("figcaption", caption), content)


def _forgetting(group: Group, which: str) -> Markup:
    """The first metric in sight, the others to be opened."""
    parts: list[Markup] = []
    for metric in group.metrics:
        if maps := heat_maps(group.entries, metric):
            shown = element("div", *maps, class_="maps")
            title = f"{describe(metric).label} of each task after each task"
            parts.append(_opened(title, shown) if parts else shown)
    if not parts:
        return Markup()
    said = "one scale for all methods: bright is bad. A column that brightens downwards is forgotten."
    seen = f"Mean over seeds{which}" if seeds.several(group) else f"On {_single(group)}"
    return joined(element("p", f"{seen}, {said}", class_="soft"), *parts)


def _single(group: Group) -> str:
    """The seed of all methods that are compared, where each of them has one."""
    shared = seeds.common(group)
    return seeds.written(shared) if shared else "the seed that each method has"


def _predictions(group: Group, shared: frozenset[str]) -> Markup:
    figures = [figure for entry in group.entries for figure in _pictures(entry, shared)]
    return element("div", *figures, class_="pictures") if figures else Markup()


def _pictures(entry: Entry, shared: frozenset[str]) -> list[Markup]:
    """What the first run drew, of those with a seed that all methods have if it can be."""
    run = min(entry.experiment.runs, key=lambda run: run.name not in shared)
    figures = []
    for path in last_pictures(run, entry.experiment.num_tasks):
        what = path.stem.rstrip("0123456789").rstrip("_").replace("_", " ")
        caption = f"{entry.label}, {seeds.written([run.name])}: {what}"
        try:
            source, width, height = data_uri(path)
        except ValueError as error:
            figures.append(element("p", f"{caption}: {error}", class_="soft"))
            continue
        alt = f"{what.capitalize()} of {entry.label} after the last task"
        figures.append(_figure(element("img", src=source, alt=alt, width=width, height=height), caption))
    return figures


def _times(group: Group, times: Mapping[Path, Seconds]) -> Markup:
    table = tables.time_table(group, times)
    return joined(table, element("p", TIMES, class_="soft")) if table else table


def _configs(group: Group, names: Mapping[str, str]) -> Markup:
    """The names are ids within what is opened: browsers open it for whoever comes by such an address."""
    texts = []
    for entry in group.entries:
        if entry.config is None:
            texts.append(element("p", f"{entry.label}: no config", class_="soft"))
            continue
        first = entry.experiment.runs[0].name
        title = f"{entry.label}: config.yaml of {entry.folder}/{first}{_made_by(entry)}"
        texts.append(_opened(title, element("pre", entry.config.text, id=names[entry.folder])))
    return joined(tables.options_table(group), *texts)


def _made_by(entry: Entry) -> str:
    """Which gpvae made the runs, where they say so."""
    if set(entry.made_by.values()) == {len(entry.experiment.runs)}:
        return f"; made by {next(iter(entry.made_by))}"
    said = [f"{count} by {program}" for program, count in entry.made_by.items()]
    if said and (rest := len(entry.experiment.runs) - sum(entry.made_by.values())):
        said.append(f"{rest} not recorded")
    return f"; runs made: {', '.join(said)}" if said else ""
