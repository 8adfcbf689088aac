"""A run in its own process.

Each process is forked from one that has already imported the package: most runs take less time than the import.
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

#: Exit code if another process is carrying out the run.
BUSY = 75
#: One thread is fastest for small matrices, and processes do not compete for cores.
THREADS = {"OMP_NUM_THREADS": "1"}


def context() -> BaseContext:
    """The multiprocessing context."""
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    made = mp.get_context("forkserver")
    made.set_forkserver_preload(["gpvae.cli", "gpvae.report.page"])
    return made


def carry_out(run: Run, words: Sequence[str], before: float) -> None:
    """Carry out a run, and exit with the exit code of its program.

    Args:
        run: The run.
        words: Its command, after the name of the program.
        before: Seconds spent before an interruption.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent ends this one
    log, is_fit = run.log, bool(run.experiment.config)
    log.parent.mkdir(parents=True, exist_ok=True)
    if acquire(log.with_suffix(".lock"), LOCK_TIMEOUT) is None:  # held until this process ends
        sys.exit(BUSY)
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if list(words) == run.words:
        clear(run.where / run.folder)  # so that it does not resume from a checkpoint of another run
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


def last_error(log: Path) -> str:
    """The last error in a log, or its last line."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return "no log"
    errors = [line for line in lines if line.startswith("error:")]
    return (errors or lines or ["empty log"])[-1]
