"""The whole page: what it holds, a section for each group of each data set, and what was left out."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from rich.console import Console
from rich.progress import Progress

from gpvae.report.arrange import arrange, shorten
from gpvae.report.groups import DataSet
from gpvae.report.heat_maps import shade_rules
from gpvae.report.palette import assign_styles
from gpvae.report.sections import group_section
from gpvae.results.runs import find_run_folders, read_runs
from gpvae.utils import provenance
from gpvae.utils.atomic import replacing

SUFFIXES = (".html", ".htm")
#: Methods and data sets that a title names; it counts more of them.
MAX_NAMES = 3
#: How large the data of charts of series may be on the whole page, in bytes.
MAX_SERIES_BYTES = 2e6
#: Control characters and halves of surrogate pairs, which names of files may hold and HTML does not allow.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
ENVIRONMENT = Environment(
    loader=PackageLoader("gpvae.report"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)


def write_report(paths: Sequence[str | Path], output: Path, title: str | None = None) -> None:
    """Write a page about runs.

    Args:
        paths: Folders of runs, or folders of such folders.
        output: The file to write; its folder is created if necessary.
        title: Title of the page; methods and data if not given.

    Raises:
        FileNotFoundError: There are no runs.
        ValueError: None of the runs can be reported, or the output is not an HTML file.
    """
    if output.suffix.lower() not in SUFFIXES or output.is_dir():
        raise ValueError(f"the page cannot be written to {output}: give --output a name that ends in .html")
    folders = find_run_folders(paths)
    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        reading = progress.add_task("Reading runs", total=len(folders))
        runs, left_out = read_runs(folders, lambda: progress.advance(reading))
        experiments = shorten({folder.parent for folder in folders})
        names = {folder: f"{experiments[folder.parent]}/{folder.name}" for folder in folders}
        reasons = {names[run.folder]: run.reason for run in left_out}
        if not runs:
            listed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
            raise ValueError(f"there is no run to report. {listed}")
        data_sets = arrange(runs)
        drawing = progress.add_task("Drawing", total=sum(len(data_set.groups) for data_set in data_sets))
        page = render_page(
            title or describe_runs(data_sets),
            data_sets,
            without_times={names[run.folder]: run.times_error for run in runs if run.times_error},
            left_out=reasons,
            step=lambda: progress.advance(drawing),
        )
    with replacing(output) as temporary:
        temporary.write_text(page, encoding="utf-8")


def describe_runs(data_sets: Sequence[DataSet]) -> str:
    """What was run, in one line: up to three methods and data sets by name, more of them by number.

    Args:
        data_sets: All experiments.
    """
    groups = [group for data_set in data_sets for group in data_set.groups]
    methods = list(dict.fromkeys(entry.identity.method for group in groups for entry in group.entries))
    data = list(dict.fromkeys(data_set.title for data_set in data_sets))
    return f"{_listed(methods, 'methods')} on {_listed(data, 'data sets')}"


def _listed(names: Sequence[str], noun: str) -> str:
    if len(names) > MAX_NAMES:
        return f"{len(names)} {noun}"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def render_page(
    title: str,
    data_sets: Sequence[DataSet],
    *,
    without_times: Mapping[str, str],
    left_out: Mapping[str, str],
    step: Callable[[], object] = lambda: None,
) -> str:
    """The page as HTML.

    Args:
        title: Its title.
        data_sets: All experiments.
        without_times: Why times are missing, by run.
        left_out: Why runs are not reported, by run.
        step: Called after each group of experiments.
    """
    groups = [group for data_set in data_sets for group in data_set.groups]
    styles = assign_styles([entry.identity for entry in group.entries] for group in groups)
    entries = {entry.folder: entry for group in groups for entry in group.entries}  # a reference is in several groups
    series_bytes = MAX_SERIES_BYTES / len(groups)
    contents: list[dict[str, Any]] = []
    for number, data_set in enumerate(data_sets, start=1):
        sections = []
        for count, group in enumerate(data_set.groups, start=1):
            sections.append(group_section(group, f"d{number}-m{count}", data_set.title, styles, series_bytes))
            step()
        contents.append({"id": f"d{number}", "title": data_set.title, "sections": sections})
    has_series = any(section["series"] for data_set in contents for section in data_set["sections"])
    script = ENVIRONMENT.get_template("series.js").render() if has_series else ""
    return render(
        "page.html",
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        title=title,
        made=datetime.now().astimezone(),
        program=provenance.program(),
        num_experiments=len(entries),
        num_runs=sum(len(entry.runs) for entry in entries.values()),
        has_means=any(group.has_means for group in groups),
        data_sets=contents,
        without_times=without_times,
        left_out=left_out,
        shade_rules=shade_rules(),
    )


def render(template: str | Template, **context: object) -> str:
    """Render a template; characters that HTML does not allow are replaced.

    Args:
        template: The template, or its name.
        context: Its variables.
    """
    return _UNPRINTABLE.sub("\ufffd", ENVIRONMENT.get_template(template).render(context))
