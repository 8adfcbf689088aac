"""Runs that want the same file take turns: one downloads it, the others wait, and find it there."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lightning.pytorch.utilities import rank_zero_info

from datamodules.data_folder import find_cached, writable_folder
from datamodules.era5.cds import retry
from datamodules.era5.cds.job_records import FOLDER
from datamodules.era5.cds.monthly_requests import Request, file_name, title
from datamodules.era5.cds.retry import Deadline
from gpvae.utils.locks import acquire, release


class Turns:
    """The requests that it is our turn to download.

    Args:
        deadline: How long to wait for others.
    """

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self._ours: dict[str, tuple[Path, int]] = {}

    def take(self, request: Request) -> bool:
        """Whether it is our turn from now on, until `close` at the latest; it is not while another run has it.

        Args:
            request: The request.
        """
        name = file_name(request)
        if name not in self._ours:
            path = writable_folder(FOLDER) / _lock_name(request)
            held = acquire(path)
            if held is None:
                return False
            self._ours[name] = path, held
        return True

    @contextmanager
    def wait_for(self, request: Request) -> Iterator[None]:
        """Wait for our turn, and let others have theirs at the end.

        Args:
            request: The request.
        """
        told_at = -float("inf")
        while not self.take(request):
            if time.monotonic() - told_at >= retry.TELL_EVERY:
                told_at = time.monotonic()
                rank_zero_info(f"{title(request)}: waiting for another run, which is downloading it.")
            self.deadline.sleep(retry.POLL)
        try:
            yield
        finally:
            self._give_up(file_name(request))

    def close(self) -> None:
        """Let others have all of them."""
        for name in list(self._ours):
            self._give_up(name)

    def _give_up(self, name: str) -> None:
        release(*self._ours.pop(name))


def somebody_downloads(requests: Sequence[Request]) -> bool:
    """Whether it is the turn of some run for any of the requests, as far as its file tells.

    Whether that is held is not asked: on some disks, only the machine that holds it would know.

    Args:
        requests: The requests.
    """
    return any(find_cached(f"{FOLDER}/{_lock_name(request)}") is not None for request in requests)


def _lock_name(request: Request) -> str:
    return f"{file_name(request)}.lock"
