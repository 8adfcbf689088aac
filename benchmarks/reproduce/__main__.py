"""Reproduce the paper: run every experiment with all seeds, and make a page of the results.

Repeat the command after an interruption: finished runs are kept, and unfinished ones resume from their last checkpoint.
A run that fails does not stop the others; failures are listed at the end, and the exit code is then 1.
"""

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.report import console
from benchmarks.reproduce.estimate import format_duration, remaining
from benchmarks.reproduce.experiment import Experiment
from benchmarks.reproduce.experiments import EXPERIMENTS
from benchmarks.reproduce.plan import chosen, plan
from benchmarks.reproduce.record import missing_from
from benchmarks.reproduce.runner import Failure, Runner
from benchmarks.reproduce.runs import Run
from gpvae.report.page import write_report

FOLDERS = {False: Path("runs/reproduce"), True: Path("runs/reproduce_quick")}
REPORT = "report.html"
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None, experiments: Sequence[Experiment] = EXPERIMENTS) -> int:
    """The command line; returns the exit code.

    Args:
        argv: Arguments; by default those of the process.
        experiments: The table of experiments.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few minutes: one seed, short forms of some experiments")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="names, groups or patterns; see --list")
    parser.add_argument("--seeds", type=int, help="number of seeds; by default as in the paper, 5, and 3 on ERA5")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel runs, with one thread each")
    parser.add_argument("--folder", type=Path, help=f"folder of the runs; default: {FOLDERS[False]}")
    parser.add_argument("--beyond", type=Path, metavar="TABLE", help="only runs that are not in this table")
    parser.add_argument("--list", action="store_true", help="show the table of experiments and what is finished")
    arguments = parser.parse_args(argv)
    for name in ("seeds", "jobs"):
        if getattr(arguments, name) is not None and getattr(arguments, name) < 1:
            parser.error(f"--{name} is at least 1")
    folder = (arguments.folder or FOLDERS[arguments.quick]).resolve()
    try:
        named = chosen(experiments, arguments.only, arguments.quick)
        runs = plan(named, arguments.seeds, folder, arguments.quick)
        if arguments.beyond:
            runs = missing_from(arguments.beyond, runs)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if arguments.list:
        show(named, runs, console)
        return 0
    runner = Runner(runs, arguments.jobs, console)
    with interrupted_by(runner):
        failures = runner.carry_out()
    if runner.interrupted:
        console.print("\nInterrupted. Repeat the command to continue.")
        return INTERRUPTED
    written = make_page(folder)
    print_failures(failures, console)
    return 1 if failures or not written else 0


def show(experiments: Sequence[Experiment], runs: Sequence[Run], screen: Console) -> None:
    """The table of experiments, and how many of their runs are finished."""
    done = [run for run in runs if run.finished()]
    table = Table("experiment", "--only", "in the paper", "runs finished", title_justify="left")
    for experiment in experiments:
        counts = [sum(run.experiment is experiment for run in some) for some in (done, runs)]
        table.add_row(experiment.name, experiment.group, experiment.paper, "{} of {}".format(*counts))
    screen.print(table)
    rest = remaining(done, [run for run in runs if run not in done])
    screen.print(f"{len(done)} of {len(runs)} runs finished; the rest takes about {format_duration(rest)} on one core")


def make_page(folder: Path) -> bool:
    """Write a report on all runs; returns whether there is one."""
    try:
        write_report([folder / "runs"], folder / REPORT, "The paper, reproduced")
    except (OSError, ValueError) as error:
        console.print(f"No report: {escape(str(error))}", highlight=False)
        return False
    console.print(f"The report is in {folder / REPORT}", soft_wrap=True, highlight=False)
    return True


def print_failures(failures: Sequence[Failure], screen: Console) -> None:
    """Print which runs failed, and why."""
    if not failures:
        return
    screen.print(f"{len(failures)} run(s) failed; to try again, repeat the command:")
    for failure in failures:
        words = f"  {failure.run.label}: {failure.reason} (log: {failure.run.log})"
        screen.print(words, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def interrupted_by(runner: Runner) -> Iterator[None]:
    """Stop the runner on Ctrl-C and `kill`, but never while a run is being started."""
    stops = (signal.SIGINT, signal.SIGTERM)
    before = {stop: signal.signal(stop, lambda number, frame: runner.interrupt()) for stop in stops}
    try:
        yield
    finally:
        for stop, handler in before.items():
            signal.signal(stop, handler)


if __name__ == "__main__":
    sys.exit(main())
