"""The Climate Data Store, through its own client, with a deadline for every wait."""

import shutil
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any, TypeVar

import cdsapi
import numpy as np
from ecmwf.datastores import Remote
from ecmwf.datastores.processing import DownloadError
from lightning.pytorch.utilities import rank_zero_info, rank_zero_warn

from datamodules.era5.cds import retry
from datamodules.era5.cds.account import Account
from datamodules.era5.cds.errors import DownloadFailed, JobFailed, TransientFailure
from datamodules.era5.cds.explain import translate_errors
from datamodules.era5.cds.monthly_requests import DATASET, Request, dataset_and_body
from datamodules.era5.cds.retry import Deadline, with_retries
from datamodules.era5.cds.session import BoundedSession

CHUNK_SIZE = 2**16  # bytes: at most these are lost when a connection breaks off
PARTIAL_SUFFIX = ".download"  # of an incomplete file, for the client
NUM_RECENT_JOBS = 10  # among which a job of unknown number is searched
PENDING_STATES = {"accepted": "in the queue", "running": "running"}

T = TypeVar("T")


class Store:
    """Jobs of the store, and their files.

    By itself, the client retries for hours, sends unanswered requests again, which creates a second job, and sleeps
    beyond the deadline. Here it tries once, and the retries are ours.

    Args:
        account: The account to use.
        deadline: When everything must be complete.
    """

    def __init__(self, account: Account, deadline: Deadline) -> None:
        self.account, self.deadline, self.session = account, deadline, BoundedSession(deadline, account)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"ecmwf\.")  # that it cannot be reached is an error below
            self.client = self._call(self._connect)

    def last_hour(self) -> np.datetime64:
        """The last hour for which the store has data, including preliminary ones.

        Raises:
            DownloadFailed: The store does not say.
        """
        end = self._retry(lambda: self.client.get_collection(DATASET).end_datetime)
        if end is None:
            raise DownloadFailed("The Climate Data Store does not say how far ERA5 goes: give `end` as a date.")
        return np.datetime64(end.astimezone(UTC).replace(tzinfo=None), "s")

    def submit(self, request: Request, asked_before: bool) -> Remote:
        """Submit a request, once; a job whose number was lost is found again.

        Args:
            request: The request.
            asked_before: Whether there may already be a job for it.
        """
        dataset, body = dataset_and_body(request)
        process = self._retry(lambda: self.client.get_process(dataset))

        def attempt(number: int) -> Remote:
            lost = self._find(body) if asked_before or number > 1 else None
            return lost or self._call(lambda: process.submit(body))

        return with_retries(attempt, self.deadline)

    def attach(self, job: str) -> Remote:
        """A job of an earlier run.

        Args:
            job: Its number.
        """
        return self._retry(lambda: self.client.get_remote(job))

    def wait(self, job: Remote, title: str) -> None:
        """Wait until a job succeeds or fails, and log its state.

        Args:
            job: The job.
            title: The name of its request.
        """
        began, pause = time.monotonic(), retry.POLL_INTERVAL
        logged_state, logged_at = "", began
        while (state := self._retry(lambda: job.status)) in PENDING_STATES:
            now = time.monotonic()
            if state != logged_state or now - logged_at >= retry.LOG_INTERVAL:
                logged_state, logged_at = state, now
                minutes, seconds = divmod(round(now - began), 60)
                number = self.account.without_key(job.request_id)
                rank_zero_info(f"{title}: job {number} is {PENDING_STATES[state]} after {minutes} min {seconds} s.")
            self.deadline.sleep(pause)
            pause = min(1.5 * pause, retry.MAX_POLL_INTERVAL)

    def fetch(self, job: Remote, target: Path) -> None:
        """Download the result of a finished job.

        Args:
            job: The job.
            target: The path to download to; an existing file is replaced.
        """
        results = self._retry(job.get_results)
        size = self._call(lambda: results.content_length)
        free = shutil.disk_usage(target.parent).free
        if size > free:
            raise OSError(
                f"The disk is full: {size / 2**20:.0f} MiB are to be downloaded to {target.parent}, which has "
                f"{free / 2**20:.0f} MiB left. Make room, or set GPVAE_DATA_DIR to another folder."
            )
        options = {"session": self.session, "chunk_size": CHUNK_SIZE, "download_file_extension": PARTIAL_SUFFIX}
        results.download_options = {**results.download_options, **options}
        partial = target.with_name(target.name + PARTIAL_SUFFIX)
        partial.unlink(missing_ok=True)  # left by a killed process with the same id
        try:
            self._retry(lambda: _download(results.download, target))  # each try resumes where the last broke off
        finally:
            partial.unlink(missing_ok=True)

    def close(self) -> None:
        """Close all connections."""
        self.session.close()

    def _connect(self) -> Any:  # noqa: ANN401  # cdsapi has no types
        return cdsapi.Client(
            url=self.account.url,
            key=self.account.key,
            verify=self.account.verify,
            session=self.session,
            retry_max=1,
            sleep_max=retry.POLL_INTERVAL,  # the most it may sleep beyond the deadline
            delete=False,
            progress=sys.stderr.isatty(),
            info_callback=_ignore,
            debug_callback=_ignore,  # its messages contain the key
            warning_callback=self._warn,
            error_callback=self._warn,
        ).client

    def _find(self, request: Request) -> Remote | None:
        """The job for a request that may have been sent; None if the store has none."""

        def look() -> Remote | None:
            jobs = self.client.get_jobs(
                limit=NUM_RECENT_JOBS, sortby="-created", status=["accepted", "running", "successful"]
            )
            remotes = (self.client.get_remote(job) for job in jobs.request_ids)
            return next((remote for remote in remotes if remote.request == request), None)

        try:
            return self._call(look)
        except DownloadFailed:  # the request is then sent again, and the store may have the job twice
            self.deadline.check()
            return None

    def _retry(self, call: Callable[[], T]) -> T:
        return with_retries(lambda _: self._call(call), self.deadline)

    def _call(self, call: Callable[[], T]) -> T:
        try:
            return translate_errors(call, self.account)
        except TransientFailure as error:
            failure = error
        self.deadline.check()  # a timeout at the deadline is not reported as a network failure
        raise failure

    def _warn(self, message: str, *arguments: object) -> None:
        rank_zero_warn(self.account.without_key(f"The Climate Data Store says: {message}"), category=StoreWarning)


class StoreWarning(UserWarning):
    """A message of the store to its users."""


def _ignore(*arguments: object) -> None:
    pass


def _download(download: Callable[[str], str], target: Path) -> None:
    try:
        download(str(target))
    except (DownloadError, AssertionError) as error:  # its length differs from the announced one
        raise JobFailed(f"The downloaded file is incomplete ({error}).") from None
