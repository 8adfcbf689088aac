"""The command line of `gpvae report`."""

import argparse
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from gpvae.report.groups import arrange, short_names
from gpvae.report.page import Report, whole_page
from gpvae.results.runs import find_folders, read_runs
from gpvae.results.terminal import console
from gpvae.utils.atomic import replacing

ENDINGS = (".html", ".htm")


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Args:
        argv: Arguments after `gpvae report`; those of the process if not given.
    """
    parser = argparse.ArgumentParser(
        prog="gpvae report",
        description="One HTML page about runs: scores, curves, forgetting, predictions, times and configs.",
        epilog="Runs in one folder are the seeds of one experiment: runs/<experiment>/seed_<n>/.",
    )
    parser.add_argument("paths", nargs="+", metavar="RUNS", help="folder of a run, or of runs")
    parser.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE", help="default: report.html")
    parser.add_argument("--title", default="Streams of tasks", help="title of the page")
    arguments = parser.parse_args(argv)
    try:
        write_report(arguments.paths, arguments.output, arguments.title)
    except (OSError, ValueError) as error:
        parser.exit(1, f"gpvae report: {error}\n")
    size = arguments.output.stat().st_size
    in_units = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
    console().print(f"The report is in {arguments.output} ({in_units})", soft_wrap=True, highlight=False, markup=False)


def write_report(paths: Sequence[str | Path], output: Path, title: str = "Streams of tasks") -> None:
    """Write a page about runs.

    Args:
        paths: Folders of runs, or folders of such folders.
        output: The file to write; its folder is made if need be.
        title: Title of the page.

    Raises:
        FileNotFoundError: There are no runs.
        ValueError: None of them can be reported, or the name of the file is none for a page.
    """
    if output.suffix.lower() not in ENDINGS or output.is_dir():
        raise ValueError(f"the page cannot be written to {output}: give --output a name that ends in .html")
    folders = find_folders(paths)
    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        reading = progress.add_task("Reading runs", total=len(folders))
        runs, left_out = read_runs(folders, lambda: progress.advance(reading))
        experiments = short_names({folder.parent for folder in folders})
        names = {folder: f"{experiments[folder.parent]}/{folder.name}" for folder in folders}
        if not runs:
            listed = "; ".join(f"{names[run.folder]}: {run.reason}" for run in left_out)
            raise ValueError(f"there is no run to report. {listed}")
        data_sets = arrange(runs)
        drawing = progress.add_task("Drawing", total=sum(len(data_set.groups) for data_set in data_sets))
        report = Report(
            title=title,
            made=datetime.now().astimezone(),
            data_sets=data_sets,
            times={run.folder: run.times for run in runs if run.times},
            untimed={names[run.folder]: run.untimed for run in runs if run.untimed},
            left_out={names[run.folder]: run.reason for run in left_out},
        )
        page = whole_page(report, lambda: progress.advance(drawing))
    with replacing(output) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
