"""Locks on requests: of several runs that need the same file, one downloads it, and the others wait for it."""

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


class RequestLocks:
    """The requests that this run has locked.

    Args:
        deadline: How long to wait for other runs.
    """

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self._held: dict[str, tuple[Path, int]] = {}

    def acquire(self, request: Request) -> bool:
        """Lock a request until `close`, unless another run has locked it; return whether this run has the lock.

        Args:
            request: The request.
        """
        name = file_name(request)
        if name not in self._held:
            path = writable_folder(FOLDER) / _lock_name(request)
            descriptor = acquire(path)
            if descriptor is None:
                return False
            self._held[name] = path, descriptor
        return True

    @contextmanager
    def exclusive(self, request: Request) -> Iterator[None]:
        """Hold the lock of a request; wait for it if another run holds it.

        Args:
            request: The request.
        """
        logged_at = -float("inf")
        while not self.acquire(request):
            if time.monotonic() - logged_at >= retry.LOG_INTERVAL:
                logged_at = time.monotonic()
                rank_zero_info(f"{title(request)}: waiting for another run, which is downloading it.")
            self.deadline.sleep(retry.POLL_INTERVAL)
        try:
            yield
        finally:
            self._release(file_name(request))

    def close(self) -> None:
        """Release all locks."""
        for name in list(self._held):
            self._release(name)

    def _release(self, name: str) -> None:
        release(*self._held.pop(name))


def any_locked(requests: Sequence[Request]) -> bool:
    """Whether some run has a lock file for any of the requests.

    The locks themselves are not probed: on some disks, only the machine that holds a lock would notice.

    Args:
        requests: The requests.
    """
    return any(find_cached(f"{FOLDER}/{_lock_name(request)}") is not None for request in requests)


def _lock_name(request: Request) -> str:
    return f"{file_name(request)}.lock"
