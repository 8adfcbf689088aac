"""Downloads of requests to files: files that are here are kept, and jobs of interrupted runs are resumed."""

import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from ecmwf.datastores import Remote
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only

from datamodules.data_folder import data_dir
from datamodules.era5.cds import retry
from datamodules.era5.cds.account import find_account
from datamodules.era5.cds.client import Store
from datamodules.era5.cds.errors import DownloadFailed, JobFailed, RequestTooLarge
from datamodules.era5.cds.explain import write_error
from datamodules.era5.cds.job_records import JobRecord
from datamodules.era5.cds.locks import RequestLocks, any_locked
from datamodules.era5.cds.monthly_requests import Request, halves, title
from datamodules.era5.cds.retry import Deadline
from datamodules.era5.cds.verify import verify_file
from gpvae.utils.atomic import replacing

MAX_QUEUED = 3  # requests that wait in the queue of the store together
ABANDONED_AGE = 3600.0  # seconds since the last write after which an unfinished file counts as abandoned


@rank_zero_only
def download(wanted: Sequence[Request], hours: float, refetch_preliminary: bool = False) -> None:
    """Download the files that are not here yet. Only the first process does; others use `downloaded`.

    Args:
        wanted: The requests, as from `month_requests`.
        hours: Hours after which to give up.
        refetch_preliminary: Whether to download files with preliminary data again.

    Raises:
        DownloadFailed: There is no account, or the store cannot be reached or does not deliver.
        OSError: There is no space, or no folder to write to.
    """
    with closing(_Downloader(hours, refetch_preliminary)) as downloader:
        for number, request in enumerate(wanted):
            downloader.complete(request, wanted[number + 1 :])


def downloaded(wanted: Sequence[Request], hours: float) -> list[str]:
    """The names of all files, in order; processes other than the first wait until it has downloaded them.

    They must wait here: the program needs the data before its processes can synchronise.

    Args:
        wanted: The requests, as from `month_requests`.
        hours: Hours after which to give up.

    Raises:
        FileNotFoundError: Files are missing, and this is the first process.
        DownloadFailed: Files are missing at the deadline, or the first process does not download them.
    """
    deadline, last_seen = Deadline(hours), time.monotonic()
    while True:
        busy = any_locked(wanted)  # before the files are listed: a lock may be released in between
        files = [record.file for request in wanted for record in _indivisible(request)]
        names = [str(file) for file in files if file is not None]
        if len(names) == len(files):
            return names
        if rank_zero_only.rank == 0:  # type: ignore[attr-defined]  # set from outside
            raise FileNotFoundError("The files of ERA5 are not downloaded yet: call prepare_data() first.")
        if busy:
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > retry.MAX_IDLE:
            raise DownloadFailed(
                f"Process 0 did not complete the download: {len(files) - len(names)} of {len(files)} files of ERA5 are "
                f"not in {data_dir()}, and no process has been downloading them for {retry.MAX_IDLE / 60:g} minutes. "
                "See the messages of process 0; if it has the files, set GPVAE_DATA_DIR to a folder that all machines "
                "share."
            )
        deadline.sleep(retry.POLL_INTERVAL)


def count_preliminary(wanted: Sequence[Request]) -> int:
    """The number of hours in downloaded files that were preliminary (ERA5T) when they were downloaded.

    Args:
        wanted: The requests, as from `month_requests`.
    """
    hours: dict[str, int] = {}
    for request in wanted:
        counts = [record.preliminary_hours for record in _indivisible(request)]
        days = len(request["day"]) * len(request["time"])
        hours[title(request)] = min(sum(counts), days)  # halves may be of the same days
    return sum(hours.values())


def _indivisible(request: Request) -> list[JobRecord]:
    """The requests that are sent for one: itself, or halves of it where it is known to be too large."""
    record = JobRecord.load(request)
    return [part for half in halves(request) for part in _indivisible(half)] if record.too_large else [record]


class _Downloader:
    """Downloads with a deadline; the store is contacted only if a file is missing."""

    def __init__(self, hours: float, refetch_preliminary: bool) -> None:
        self.deadline, self.refetch_preliminary = Deadline(hours), refetch_preliminary
        self.locks = RequestLocks(self.deadline)
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = Store(find_account(), self.deadline)
        return self._store

    def close(self) -> None:
        self.locks.close()
        if self._store is not None:
            self._store.close()

    def complete(self, request: Request, later: Sequence[Request]) -> None:
        """Download the file of a request, unless it is here, or another run downloads it.

        Args:
            request: The request.
            later: The requests that follow, which may be queued meanwhile.
        """
        if any(self._missing(record) for record in _indivisible(request)):
            with self.locks.exclusive(request):
                self._complete(request, later)

    def _complete(self, request: Request, later: Sequence[Request]) -> None:
        """Download a file, in halves if it is too large."""
        record = JobRecord.load(request)  # another run may have changed it by now
        if not record.too_large and self._missing(record):
            try:
                self._download(record, later)
            except RequestTooLarge as error:
                if not record.too_large:
                    raise DownloadFailed(f"{title(request)} cannot be divided into smaller requests. {error}") from None
                rank_zero_info(f"{title(request)}: too large for one request, so it is divided into halves.")
        if record.too_large:
            first, second = halves(request)
            self.complete(first, [second, *later])
            self.complete(second, later)

    def _missing(self, record: JobRecord) -> bool:
        unfinished = record.asked  # by a run that was killed while it fetched again, or before it saved its record
        return record.file is None or (self.refetch_preliminary and (record.preliminary_hours > 0 or unfinished))

    def _download(self, record: JobRecord, later: Sequence[Request]) -> None:
        for attempt in range(1, retry.MAX_SUBMISSIONS + 1):
            submitted_before = record.job is not None
            try:
                job = self._job(record)
                self._submit_ahead(later[: MAX_QUEUED - 1])
                self._finish(record, job)
                return
            except JobFailed as error:
                record.clear_job()
                if attempt == retry.MAX_SUBMISSIONS or not (error.again or submitted_before):
                    raise DownloadFailed(f"{title(record.request)} could not be downloaded. {error}") from None
                again = f"Requesting it again, {attempt + 1} of {retry.MAX_SUBMISSIONS}."
                rank_zero_info(f"{title(record.request)}: {error} {again}")
            self.deadline.pause(attempt)

    def _submit_ahead(self, later: Sequence[Request]) -> None:
        """Queue the next requests as well; their failures are reported when their files are needed."""
        with suppress(DownloadFailed):
            for request in later:
                if self._unsubmitted(JobRecord.load(request)) and self.locks.acquire(request):
                    record = JobRecord.load(request)  # another run may have changed it by now
                    if self._unsubmitted(record):
                        self._job(record)

    def _unsubmitted(self, record: JobRecord) -> bool:
        return self._missing(record) and not (record.too_large or record.asked)

    def _finish(self, record: JobRecord, job: Remote) -> None:
        name = title(record.request)
        self.store.wait(job, name)
        target = record.target
        _remove_abandoned(target)
        try:
            with replacing(target) as temporary:
                self.store.fetch(job, temporary)
                record.preliminary_hours = verify_file(temporary, record.request)
        except OSError as error:
            if isinstance(error, DownloadFailed) or error.errno is None:
                raise
            raise write_error(error) from None
        record.clear_job()
        rank_zero_info(f"{name}: downloaded to {target}.")
        if record.preliminary_hours:
            rank_zero_info(
                f"{name}: {record.preliminary_hours} hours are preliminary (ERA5T) and may be revised; "
                "refetch_preliminary fetches the final values in three months."
            )

    def _job(self, record: JobRecord) -> Remote:
        """The job of a request: that of an earlier run, or a new one, whose number is saved at once."""
        if record.job is not None:
            rank_zero_info(f"{title(record.request)}: resuming job {record.job}.")
            return self.store.attach(record.job)
        store, asked_before = self.store, record.asked
        record.asked = True
        record.save()
        try:
            job = store.submit(record.request, asked_before)
        except RequestTooLarge:
            record.too_large = len(halves(record.request)) > 1
            record.clear_job()
            raise
        record.job = job.request_id
        record.save()
        return job


def _remove_abandoned(target: Path) -> None:
    """Remove what killed runs have left of unfinished downloads."""
    for temporary in target.parent.glob(f".{target.name}.*"):
        with suppress(OSError):
            if time.time() - temporary.stat().st_mtime > ABANDONED_AGE:
                temporary.unlink()
