"""Carries out runs in parallel, and prints how each ended."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.reproduce.estimate import format_duration, remaining
from benchmarks.reproduce.process import BUSY, carry_out, context, last_error
from benchmarks.reproduce.runs import Run

#: Seconds between checks for an interruption.
PAUSE = 0.5


@dataclass
class Started:
    """A run that is under way."""

    run: Run
    process: BaseProcess
    since: float
    before: float

    @property
    def spent(self) -> float:
        """Seconds so far, including those before an interruption."""
        return self.before + time.monotonic() - self.since


@dataclass(frozen=True)
class Failure:
    """A failed run, and the reason."""

    run: Run
    reason: str


class Runner:
    """Carries out runs.

    Args:
        runs: All runs of the plan; finished ones are kept.
        jobs: Number of parallel runs.
        console: Console for messages.
    """

    def __init__(self, runs: Sequence[Run], jobs: int, console: Console) -> None:
        self.finished = [run for run in runs if run.finished()]
        done = {run.record for run in self.finished}
        self.left = [run for run in runs if run.record not in done]
        self.jobs, self.console = jobs, console
        self.failures: list[Failure] = []
        self.under_way: dict[int, Started] = {}
        self.interrupted = False

    def interrupt(self) -> None:
        """Stop at the next check; for signal handlers."""
        self.interrupted = True

    def carry_out(self) -> list[Failure]:
        """Carry out the remaining runs until all have ended or `interrupt` is called; returns the failures."""
        total = len(self.finished) + len(self.left)
        words = f"{len(self.finished)} of {total} runs are finished; the rest takes about {self._rest()}"
        self.console.print(words, highlight=False)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        shown = self.console.is_terminal
        with Progress(*columns, TimeElapsedColumn(), console=self.console, transient=True, disable=not shown) as bar:
            task = bar.add_task("", total=total, completed=len(self.finished))
            waiting, processes = list(self.left), context()
            try:
                while (waiting or self.under_way) and not self.interrupted:
                    while waiting and len(self.under_way) < self.jobs:
                        self._start(waiting.pop(0), processes)
                        names = ", ".join(started.run.label for started in self.under_way.values())
                        bar.update(task, description=f"{names} (about {self._rest()} left)")
                    for sentinel in wait(list(self.under_way), timeout=PAUSE):
                        self._ended(self.under_way.pop(sentinel))  # type: ignore[call-overload]
                        bar.advance(task)
            finally:
                self._stop()
        return self.failures

    def _start(self, run: Run, processes: BaseContext) -> None:
        words, before = run.next_words(), float(run.read().get("spent") or 0.0)
        before = before if words != run.words else 0.0
        run.where.mkdir(parents=True, exist_ok=True)
        process = processes.Process(target=carry_out, args=(run, words, before), name=run.label)  # type: ignore[attr-defined]
        process.start()
        self.under_way[process.sentinel] = Started(run, process, time.monotonic(), before)

    def _ended(self, started: Started) -> None:
        run, code = started.run, started.process.exitcode
        started.process.join()
        self.left.remove(run)
        if code == 0 and (unfinished := run.unfinished()):
            self.failures.append(Failure(run, unfinished))
            outcome = f"FAILED, {unfinished}"
        elif code == 0:
            run.write(seconds=started.spent)
            self.finished.append(run)
            outcome = f"done in {started.spent:.0f} s"
        else:
            if code != BUSY:
                run.write(spent=started.spent)
            reason = (
                "another process is carrying it out" if code == BUSY else f"exit code {code}: {last_error(run.log)}"
            )
            self.failures.append(Failure(run, reason))
            outcome = f"FAILED, {reason}"
        total = len(self.finished) + len(self.left) + len(self.failures)
        number = len(self.finished) + len(self.failures)
        words = f"{number} of {total}: {run.label}: {outcome}; about {self._rest()} left"
        self.console.print(words, highlight=False, markup=False, soft_wrap=True)

    def _rest(self) -> str:
        return format_duration(remaining(self.finished, self.left, self.jobs))

    def _stop(self) -> None:
        """Terminate the runs under way, which can be resumed."""
        for started in self.under_way.values():
            started.process.terminate()
        for started in self.under_way.values():
            started.process.join()
            if started.process.exitcode != BUSY:
                started.run.write(spent=started.spent)
