"""The section of a group, as `templates/section.html` renders it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from gpvae.metrics import describe
from gpvae.report import charts, maps, tables
from gpvae.report.groups import Entry, Group
from gpvae.report.heat_maps import heat_maps
from gpvae.report.names import format_seeds
from gpvae.report.palette import Styles
from gpvae.report.series_charts import series_charts
from gpvae.report.thumbnails import data_uri, final_pictures
from gpvae.results.predicted_series import FILE_NAME, read_series
from gpvae.results.runs import Run

Context = dict[str, Any]
#: Pictures of predictions, for which charts of series stand in where scripts run.
REPLACED = ("stream", "reconstructions")


def group_section(group: Group, name: str, data: str, styles: Styles, series_bytes: float) -> Context:
    """The variables of the template.

    Args:
        group: Methods to compare.
        name: The id of the section.
        data: Title of the data set.
        styles: How each method is drawn.
        series_bytes: How large the data of the charts of series may be.
    """
    common = group.common_seeds if group.seeds_differ else frozenset()
    compared = group.on_seeds(common) if common else group
    on_common = f", on {format_seeds(common)}" if common else ""
    configs = {entry.folder: f"{name}-config{n}" for n, entry in enumerate(group.entries) if entry.config}
    own = "the seeds that each method has" if group.seeds_differ else "seeds"
    over = f": mean over {own}" if group.has_means else f", on {_single_seed(group)}"
    shown = {entry.label: _shown_run(entry, common) for entry in group.entries}
    series = {label: read_series(run.folder / FILE_NAME) for label, run in shown.items()}
    pictures = [picture for label, run in shown.items() for picture in _pictures(label, run, bool(series[label]))]
    section: Context = {
        "id": name,
        "title": f"{data}, {group.title}",
        "contents": group.title,
        "scores": tables.score_table(group, configs, f"After the last task{over}"),
        "seeds_differ": group.seeds_differ,
        "common_seeds": format_seeds(common) if common else "",
        "common_scores": None,
        "notes": [f"{entry.label}: {note}" for entry in group.entries for note in entry.notes],
        "legend": [
            {"svg": charts.to_svg(charts.plot_key(styles[entry.identity]), f"{name}-key{n}", ""), "label": entry.label}
            for n, entry in enumerate(group.entries)
        ],
        "charts": _charts(compared, name, styles, on_common),
        "all_charts": _charts(group, f"{name}-all", styles, "") if common else [],
        "heat_maps": [
            (describe(metric).label, drawn)
            for metric in compared.metrics
            if (drawn := heat_maps(compared.entries, metric))
        ],
        "maps": _maps(group, name),
        "averaged": f"Mean over seeds{on_common}" if compared.has_means else f"On {_single_seed(compared)}",
        "series": series_charts(
            [(entry.label, styles[entry.identity], series[entry.label]) for entry in group.entries], series_bytes
        ),
        "replaced_pictures": [picture for picture in pictures if picture["replaced"]],
        "pictures": [picture for picture in pictures if not picture["replaced"]],
        "times": tables.time_table(group),
        "options": tables.options_table(group),
        "configs": [_config(entry, configs) for entry in group.entries],
    }
    if common:
        over = f"All methods on {format_seeds(common)}, after the last task{': mean' if compared.has_means else ''}"
        section["common_scores"] = tables.score_table(compared, configs, over)
    return section


def _single_seed(group: Group) -> str:
    """The seed of the contenders, if each of them has one."""
    return format_seeds(group.common_seeds) if group.common_seeds else "the seed that each method has"


def _charts(group: Group, name: str, styles: Styles, on_seeds: str) -> list[Context]:
    """Each metric over the tasks seen, and the first metric of single tasks."""
    figures = []
    for n, metric in enumerate(group.metrics):
        title = f"{describe(metric).label} over all tasks seen{on_seeds}{describe(metric).hint}"
        if figure := charts.plot_tasks_seen(group.entries, styles, metric):
            figures.append({"svg": charts.to_svg(figure, f"{name}-seen{n}", f"Line chart: {title}"), "title": title})
    metric = group.metrics[0]
    if figure := charts.plot_single_tasks(group.entries, styles, metric):
        tasks = charts.describe_tasks(max(entry.experiment.num_tasks for entry in group.entries))
        title = f"{describe(metric).label} of {tasks}{on_seeds}: just learnt (hollow) and at the end (filled)"
        figures.append({"svg": charts.to_svg(figure, f"{name}-tasks0", f"Chart: {title}"), "title": title})
    return figures


def _maps(group: Group, name: str) -> list[Context]:
    """A map of the locations of each method, all on one scale."""
    found = {entry.label: scores for entry in group.entries if (scores := maps.locations_of(entry))}
    if not found:
        return []
    limits = maps.colour_range(list(found.values()))
    return [
        {
            "svg": charts.to_svg(maps.plot_map(scores, limits), f"{name}-map{n}", f"Map: skill of {label}"),
            "title": label,
        }
        for n, (label, scores) in enumerate(found.items())
    ]


def _shown_run(entry: Entry, common: frozenset[str]) -> Run:
    """The run whose predictions are shown: the first, preferably with a seed that all methods have."""
    return min(entry.runs, key=lambda run: run.folder.name not in common)


def _pictures(label: str, run: Run, replaced: bool) -> list[Context]:
    """What a run drew after its last task, and whether charts of series stand in for it."""
    pictures = []
    for path in final_pictures(run.folder, run.table.num_tasks):
        subject = path.stem.rstrip("0123456789").rstrip("_").replace("_", " ")
        picture: Context = {"caption": f"{label}, {format_seeds([run.folder.name])}: {subject}", "error": ""}
        picture["replaced"] = replaced and subject in REPLACED
        try:
            picture["source"], picture["width"], picture["height"] = data_uri(path)
            picture["alt"] = f"{subject.capitalize()} of {label} after the last task"
        except ValueError as error:
            picture["error"] = str(error)
        pictures.append(picture)
    return pictures


def _config(entry: Entry, ids: Mapping[str, str]) -> Context:
    return {
        "label": entry.label,
        "id": ids.get(entry.folder),
        "text": entry.config.text if entry.config else None,
        "run": f"{entry.folder}/{entry.runs[0].folder.name}",
        "made_by": _made_by(entry),
    }


def _made_by(entry: Entry) -> str:
    """Which gpvae made the runs, if they have recorded it."""
    programs = Counter(run.config.made_by for run in entry.runs if run.config and run.config.made_by)
    if set(programs.values()) == {len(entry.runs)}:
        return f"; made by {next(iter(programs))}"
    parts = [f"{count} by {program}" for program, count in programs.items()]
    if parts and (rest := len(entry.runs) - programs.total()):
        parts.append(f"{rest} not recorded")
    return f"; runs made: {', '.join(parts)}" if parts else ""
