"""Runs a function in another process, which damaged files may crash inside C libraries."""

import logging
import multiprocessing as mp
import resource
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fuzz.guards import Guard
from tests.fuzz.outcomes import Outcome

TIMEOUT = 20.0  # seconds for an input
START = 600.0  # and for a process
MEMORY = 2 * 2**30  # bytes of address space beyond those at the start; needing more counts as a crash
MODULES = [
    "tests.fuzz.era5_files",
    "tests.fuzz.checkpoints",
    "tests.fuzz.configs",
    "tests.fuzz.tables",
    "tests.fuzz.states",
]


class Worker:
    """Calls a function in another process, and starts a new process if it dies or hangs.

    Args:
        function: Returns the outcome of a file, from its path; a function of one of `MODULES`.
    """

    def __init__(self, function: Callable[[str], Outcome]) -> None:
        self._function = function
        self._context = mp.get_context("forkserver")  # modules are imported only once
        self._context.set_forkserver_preload(MODULES)
        self._process: mp.process.BaseProcess | None = None

    def __call__(self, path: str) -> Outcome:
        if self._process is None:
            self._start()
        assert self._process is not None
        self._connection.send(path)
        try:
            if self._connection.poll(TIMEOUT):
                return self._connection.recv()
            self.close()
            return Outcome("crash", f"no end after {TIMEOUT:.0f} seconds")
        except (EOFError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode
            self.close()
            return Outcome("crash", f"the process died with exit code {code}")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def _start(self) -> None:
        self._connection, remote = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(self._function, remote), daemon=True)
        self._process.start()
        remote.close()
        assert self._connection.poll(START)
        self._connection.recv()


def _serve(function: Callable[[str], Outcome], connection: Connection) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    logging.disable()
    guard = Guard()
    connection.send("ready")
    while True:
        path = connection.recv()
        guard.watch(Path(path).parent)
        outcome = function(path)
        connection.send(Outcome("crash", guard.trespass) if guard.trespass else outcome)
