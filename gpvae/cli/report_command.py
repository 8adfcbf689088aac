"""`gpvae report`: one HTML page about runs."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from gpvae.cli.subcommand import Subcommand
from gpvae.results.runs import find_run_folders
from gpvae.results.terminal import console


class ReportCommand(Subcommand):
    """Writes a page."""

    name = "report"
    description = "One HTML page about runs: scores, curves, forgetting, predictions, times and configs."
    epilog = "Runs in one folder are the seeds of one experiment: runs/<experiment>/seed_<n>/."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add paths, file and title."""
        default = Path("report.html")
        parser.add_argument("paths", nargs="+", metavar="RUNS", help="folder of a run, or of runs")
        parser.add_argument("--output", type=Path, default=default, metavar="FILE", help=f"default: {default}")
        parser.add_argument("--title", help="title of the page; default: methods and data")

    def run(self, arguments: Namespace) -> None:
        """Write the page, and print where it is."""
        find_run_folders(arguments.paths)  # raises before torch is imported
        from gpvae.report.page import write_report

        write_report(arguments.paths, arguments.output, arguments.title)
        size = arguments.output.stat().st_size
        in_units = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
        text = f"The report is in {arguments.output} ({in_units})"
        console().print(text, soft_wrap=True, highlight=False, markup=False)
