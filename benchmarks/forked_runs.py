"""Runs of `gpvae fit` in forked processes, which need not import anything again."""

import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path

import torch

import gpvae.cli.lightning_cli  # noqa: F401 (imported once, for all runs)
from gpvae.cli import main

#: Seconds within which the other processes must end after one was killed.
PATIENCE = 60.0


class ForkedRun:
    """`gpvae fit -c small.yaml` in a folder, in one process or several.

    Args:
        folder: The working folder.
        num_processes: Number of processes; each gets the variables that Lightning gives to those that it starts.
        words: Further words of the command.
    """

    def __init__(self, folder: Path, num_processes: int = 1, *words: str) -> None:
        self.folder, self._codes = folder, dict[int, int]()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NODE_RANK": "0"}
        self.pids = [
            self._fork(words, variables | {"LOCAL_RANK": str(rank)} if num_processes > 1 else {}, rank)
            for rank in range(num_processes)
        ]

    def _fork(self, words: tuple[str, ...], variables: dict[str, str], rank: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            os.setsid()
            os.chdir(self.folder)
            file = os.open(f"output_{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(file, stream)
            os.environ.update(variables)
            torch.set_num_threads(1)
            sys.argv = ["gpvae", "fit", "-c", "small.yaml", *words]
            main()
            code = 0
        except SystemExit as end:
            code = 0 if end.code in (None, 0) else 1
            print(end.code)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    @property
    def is_running(self) -> bool:
        """Whether all processes run."""
        return self._num_ended() == 0

    def _num_ended(self) -> int:
        """The number of processes that have ended; their exit codes are kept."""
        for pid in self.pids:
            if pid not in self._codes:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    self._codes[pid] = os.waitstatus_to_exitcode(status)
        return len(self._codes)

    def kill(self, rank: int | None = None) -> bool:
        """Kill all processes, or one, whereupon the others must end; return whether all were running.

        Args:
            rank: The process.

        Raises:
            RuntimeError: The other processes did not end.
        """
        if not self.is_running:
            self.finish()
            return False
        for pid in self.pids if rank is None else [self.pids[rank]]:
            os.kill(pid, signal.SIGKILL)
        begun = time.monotonic()
        while self._num_ended() < len(self.pids):
            time.sleep(0.005)
            if time.monotonic() - begun > PATIENCE:
                for pid in set(self.pids) - self._codes.keys():
                    os.kill(pid, signal.SIGKILL)
                raise RuntimeError(f"process {rank} was killed, and others still run after {PATIENCE:.0f} seconds")
        return True

    def finish(self) -> None:
        """Wait for the end.

        Raises:
            RuntimeError: The run failed.
        """
        while self._num_ended() < len(self.pids):
            time.sleep(0.005)
        for rank, pid in enumerate(self.pids):
            if self._codes[pid]:
                raise RuntimeError(f"the run failed: {(self.folder / f'output_{rank}.txt').read_text()[-3000:]}")
