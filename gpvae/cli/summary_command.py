"""`gpvae summary`: means and 95 % intervals over the runs of each experiment."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from gpvae.cli.subcommand import Subcommand
from gpvae.metrics.task_table import FILE_NAME
from gpvae.results.summary import show, summarise, write_csv


class SummaryCommand(Subcommand):
    """Prints a summary, and writes it to a csv file."""

    name = "summary"
    description = "Mean and 95 % interval (Student's t) of scores over runs, such as seeds, of each experiment."
    epilog = "Runs in one folder are one experiment: runs/<experiment>/seed_<n>/task_metrics.csv."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add paths and what to show."""
        help_ = f"folder of a run, folder of runs, or a {FILE_NAME}"
        parser.add_argument("paths", nargs="+", metavar="RUN_DIR_OR_CSV", help=help_)
        parser.add_argument("--tasks", action="store_true", help="also show the final scores of each task")
        help_ = "also show each variable, and write it to the csv file"
        parser.add_argument("--variables", action="store_true", help=help_)
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write all scores, after every task, to this file")

    def run(self, arguments: Namespace) -> None:
        """Summarise."""
        experiments = summarise(arguments.paths, arguments.variables)
        if arguments.csv is not None:
            write_csv(experiments, arguments.csv)
        show(experiments, arguments.tasks, arguments.variables)
