"""A run in a process of its own.

Each process is forked from one that has the package imported already: most runs take less time than the import does.
"""

import multiprocessing as mp
import os
import signal
import sys
from collections.abc import Sequence
from multiprocessing.context import BaseContext
from pathlib import Path

from benchmarks.reproduce.runs import Run
from gpvae.cli.run_folder import LOCK_TIMEOUT, clear
from gpvae.utils.locks import acquire

#: How a run that another process is at ends.
BUSY = 75
#: For small matrices one thread is best, and processes do not fight over cores.
THREADS = {"OMP_NUM_THREADS": "1"}


def context() -> BaseContext:
    """What processes come from."""
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    made = mp.get_context("forkserver")
    made.set_forkserver_preload(["gpvae.cli", "gpvae.report.page"])
    return made


def carry_out(run: Run, words: Sequence[str], before: float) -> None:
    """The whole life of a process: carry out a run, and end with the exit code of its program.

    Args:
        run: The run.
        words: Its command, after the name of the program.
        before: Seconds spent on it before an interruption.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; whoever started this ends it
    log, is_fit = run.log, bool(run.experiment.config)
    log.parent.mkdir(parents=True, exist_ok=True)
    if acquire(log.with_suffix(".lock"), LOCK_TIMEOUT) is None:  # for as long as this process lives
        sys.exit(BUSY)
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if list(words) == run.words:
        clear(run.where / run.folder)  # else a checkpoint of something else would pass for its own
    run.write(spent=before)
    os.chdir(run.where)
    print(f"$ {'gpvae' if is_fit else 'renewal_run'} {' '.join(words)}", flush=True)
    if is_fit:
        from gpvae.cli import main

        sys.argv = ["gpvae", *words]
        main()
    else:
        from benchmarks.reproduce.renewal_run import main as renewal

        renewal(words)


def last_words(log: Path) -> str:
    """The last line of a log that says something: why a run failed."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return "it left no log"
    errors = [line for line in lines if line.startswith("error:")]
    return (errors or lines or ["it said nothing"])[-1]
