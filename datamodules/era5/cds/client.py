"""The Climate Data Store, through its own client, with an end to every wait."""

import shutil
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import cdsapi
from ecmwf.datastores import Remote
from ecmwf.datastores.processing import DownloadError
from lightning.pytorch.utilities import rank_zero_info, rank_zero_warn

from datamodules.era5.cds import retry
from datamodules.era5.cds.account import Account
from datamodules.era5.cds.errors import DownloadFailed, JobLost, Passing
from datamodules.era5.cds.explain import plainly
from datamodules.era5.cds.monthly_requests import DATASET, Request
from datamodules.era5.cds.retry import Deadline, again_and_again
from datamodules.era5.cds.session import BoundedSession

CHUNK = 2**16  # bytes that may be lost where a connection breaks off
UNFINISHED = ".download"  # what the client calls a file that it has not all of
RECENT = 10  # jobs among which one is looked for whose number was lost
WAITING = {"accepted": "in the queue", "running": "running"}

T = TypeVar("T")


class Store:
    """Jobs of the store, and their files.

    The client would try for hours, and send a request again that it got no answer to, so that there are two jobs; here
    it tries once, and we see to the rest. It would sleep through the deadline between tries besides.

    Args:
        account: As whom to ask.
        deadline: When everything must be done.
    """

    def __init__(self, account: Account, deadline: Deadline) -> None:
        self.account, self.deadline, self.session = account, deadline, BoundedSession(deadline)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"ecmwf\.")  # if it cannot be reached, we shall notice
            self.client = self._plainly(self._connect)

    def submit(self, request: Request, asked_before: bool) -> Remote:
        """Ask for something, once; a job of which nobody told us is found again.

        Args:
            request: What to ask for.
            asked_before: Whether there may be such a job.
        """
        process = self._persistently(lambda: self.client.get_process(DATASET))

        def attempt(number: int) -> Remote:
            lost = self._find(request) if asked_before or number > 1 else None
            return lost or self._plainly(lambda: process.submit(request))

        return again_and_again(attempt, self.deadline)

    def attach(self, job: str) -> Remote:
        """A job of an earlier run.

        Args:
            job: Its number.
        """
        return self._persistently(lambda: self.client.get_remote(job))

    def wait(self, job: Remote, title: str) -> None:
        """Wait until a job has an end, good or bad, and tell now and then how it is doing.

        Args:
            job: The job.
            title: What it is for.
        """
        began, pause = time.monotonic(), retry.POLL
        told_state, told_at = "", began
        while (state := self._persistently(lambda: job.status)) in WAITING:
            now = time.monotonic()
            if state != told_state or now - told_at >= retry.TELL_EVERY:
                told_state, told_at = state, now
                minutes, seconds = divmod(round(now - began), 60)
                rank_zero_info(f"{title}: job {job.request_id} is {WAITING[state]} after {minutes} min {seconds} s.")
            self.deadline.sleep(pause)
            pause = min(1.5 * pause, retry.LONGEST_POLL)

    def fetch(self, job: Remote, target: Path) -> None:
        """Download what a job that has come to its end has made.

        Args:
            job: The job.
            target: Where to; what is there is replaced.
        """
        results = self._persistently(job.get_results)
        size = self._plainly(lambda: results.content_length)
        free = shutil.disk_usage(target.parent).free
        if size > free:
            raise OSError(
                f"The disk is full: {size / 2**20:.0f} MiB are to be downloaded to {target.parent}, which has "
                f"{free / 2**20:.0f} MiB left. Make room, or set GPVAE_DATA_DIR to another folder."
            )
        ways = {"session": self.session, "chunk_size": CHUNK, "download_file_extension": UNFINISHED}
        results.download_options = {**results.download_options, **ways}
        unfinished = target.with_name(target.name + UNFINISHED)
        unfinished.unlink(missing_ok=True)  # of a process that had our number, and was killed
        try:
            self._persistently(lambda: _download(results.download, target))  # each goes on where the last broke off
        finally:
            unfinished.unlink(missing_ok=True)

    def close(self) -> None:
        """Hang up."""
        self.session.close()

    def _connect(self) -> Any:  # noqa: ANN401  # cdsapi has no types
        return cdsapi.Client(
            url=self.account.url,
            key=self.account.key,
            verify=self.account.verify,
            session=self.session,
            retry_max=1,
            sleep_max=retry.POLL,  # this much it may sleep beyond the deadline
            delete=False,
            progress=sys.stderr.isatty(),
            info_callback=_not_told,
            debug_callback=_not_told,  # it would tell the key
            warning_callback=self._warn,
            error_callback=self._warn,
        ).client

    def _find(self, request: Request) -> Remote | None:
        """The job for a request that we may have sent, if the store tells us of it."""

        def look() -> Remote | None:
            jobs = self.client.get_jobs(limit=RECENT, sortby="-created", status=["accepted", "running", "successful"])
            remotes = (self.client.get_remote(job) for job in jobs.request_ids)
            return next((remote for remote in remotes if remote.request == request), None)

        try:
            return self._plainly(look)
        except DownloadFailed:  # then we ask once more, and the store may have the job twice
            self.deadline.check()
            return None

    def _persistently(self, call: Callable[[], T]) -> T:
        return again_and_again(lambda _: self._plainly(call), self.deadline)

    def _plainly(self, call: Callable[[], T]) -> T:
        try:
            return plainly(call, self.account)
        except Passing as error:
            failure = error
        self.deadline.check()  # what broke off because the time was over is not called a bad network
        raise failure

    def _warn(self, message: str, *arguments: object) -> None:
        rank_zero_warn(self.account.without_key(f"The Climate Data Store says: {message}"), category=StoreWarning)


class StoreWarning(UserWarning):
    """What the store has to say to its users."""


def _not_told(*arguments: object) -> None:
    pass


def _download(download: Callable[[str], str], target: Path) -> None:
    try:
        download(str(target))
    except (DownloadError, AssertionError) as error:  # of another length than was said
        raise JobLost(f"The file did not come whole ({error}).") from None
