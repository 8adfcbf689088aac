"""The command line of `gpvae report`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from gpvae.report.page import write_report
from gpvae.results.terminal import console


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
