"""From requests to files, whatever happens on the way: what is here is kept, and what was asked for is not lost."""

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
from datamodules.era5.cds.errors import DownloadFailed, JobLost, TooLarge
from datamodules.era5.cds.explain import not_written
from datamodules.era5.cds.job_records import Record
from datamodules.era5.cds.locks import Turns, somebody_downloads
from datamodules.era5.cds.monthly_requests import Request, halves, title
from datamodules.era5.cds.retry import Deadline
from datamodules.era5.cds.verify import check_file
from gpvae.utils.atomic import replacing

IN_FLIGHT = 3  # months that wait in the queue together
ABANDONED = 3600.0  # seconds after which an unfinished file is nobody's any more


@rank_zero_only
def download(wanted: Sequence[Request], hours: float, refetch_preliminary: bool = False) -> None:
    """Download what is not here yet. Only the first process does; others find the files by `downloaded`.

    Args:
        wanted: What `month_requests` gives.
        hours: When to give up.
        refetch_preliminary: Whether to download files with preliminary data again.

    Raises:
        DownloadFailed: The store is not set up, cannot be reached, or does not give what is asked for.
        OSError: There is no room, or no folder to write to.
    """
    with closing(_Downloads(hours, refetch_preliminary)) as downloads:
        for number, request in enumerate(wanted):
            downloads.complete(request, wanted[number + 1 :])


def downloaded(wanted: Sequence[Request], hours: float) -> list[str]:
    """The names of all files, in order; processes other than the first wait for it to download them.

    They have to wait here: the program needs the data before its processes can wait for each other.

    Args:
        wanted: What `month_requests` gives.
        hours: When to give up.

    Raises:
        FileNotFoundError: They are not here, and this is the first process.
        DownloadFailed: They have not come, or the first process no longer downloads them.
    """
    deadline, last_seen = Deadline(hours), time.monotonic()
    while True:
        busy = somebody_downloads(wanted)  # before the look at files, which may be complete right after it
        files = [record.file for request in wanted for record in _least(request)]
        names = [str(file) for file in files if file is not None]
        if len(names) == len(files):
            return names
        if rank_zero_only.rank == 0:  # type: ignore[attr-defined]  # set from outside
            raise FileNotFoundError("The files of ERA5 are not downloaded yet: call prepare_data() first.")
        if busy:
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > retry.APART:
            raise DownloadFailed(
                f"Process 0 did not complete the download: {len(files) - len(names)} of {len(files)} files of ERA5 are "
                f"not in {data_dir()}, and nobody has been downloading them for {retry.APART / 60:g} minutes. See "
                "what process 0 says; if it has them, set GPVAE_DATA_DIR to a folder that all machines see."
            )
        deadline.sleep(retry.POLL)


def _least(request: Request) -> list[Record]:
    """What a request is known to come in: itself, or halves of it."""
    record = Record.of(request)
    return [least for half in halves(request) for least in _least(half)] if record.too_large else [record]


class _Downloads:
    """Downloads with a deadline; the store is asked for nothing before something is missing."""

    def __init__(self, hours: float, refetch_preliminary: bool) -> None:
        self.deadline, self.refetch_preliminary = Deadline(hours), refetch_preliminary
        self.turns = Turns(self.deadline)
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = Store(find_account(), self.deadline)
        return self._store

    def close(self) -> None:
        self.turns.close()
        if self._store is not None:
            self._store.close()

    def complete(self, request: Request, later: Sequence[Request]) -> None:
        """Download what a request is for, unless it is here, or another run downloads it.

        Args:
            request: The request.
            later: What will be asked for next, and may wait in the queue meanwhile.
        """
        if any(self._missing(record) for record in _least(request)):
            with self.turns.wait_for(request):
                self._complete(request, later)

    def _complete(self, request: Request, later: Sequence[Request]) -> None:
        """Download it, in halves if it is too large."""
        record = Record.of(request)  # as another run may have left it by now
        if not record.too_large and self._missing(record):
            try:
                self._download(record, later)
            except TooLarge as error:
                if not record.too_large:
                    raise DownloadFailed(f"{title(request)} cannot be asked for in smaller pieces. {error}") from None
                rank_zero_info(f"{title(request)}: too large for one request, so half of it at a time.")
        if record.too_large:
            first, second = halves(request)
            self.complete(first, [second, *later])
            self.complete(second, later)

    def _missing(self, record: Record) -> bool:
        unfinished = record.asked  # by a run that was killed in the middle of refetching, or of taking notes
        return record.file is None or (self.refetch_preliminary and (record.preliminary_hours > 0 or unfinished))

    def _download(self, record: Record, later: Sequence[Request]) -> None:
        for attempt in range(1, retry.SUBMISSIONS + 1):
            submitted_before = record.job is not None
            try:
                job = self._job(record)
                self._submit_ahead(later[: IN_FLIGHT - 1])
                self._finish(record, job)
                return
            except JobLost as error:
                record.forget_job()
                if attempt == retry.SUBMISSIONS or not (error.again or submitted_before):
                    raise DownloadFailed(f"{title(record.request)} could not be downloaded. {error}") from None
                rank_zero_info(f"{title(record.request)}: {error} Asking again, {attempt + 1} of {retry.SUBMISSIONS}.")
            self.deadline.pause(attempt)

    def _submit_ahead(self, later: Sequence[Request]) -> None:
        """Let requests wait in the queue together; what goes wrong with later ones is told when it is their turn."""
        with suppress(DownloadFailed):
            for request in later:
                if self._unasked(Record.of(request)) and self.turns.take(request):
                    record = Record.of(request)  # as another run may have left it by now
                    if self._unasked(record):
                        self._job(record)

    def _unasked(self, record: Record) -> bool:
        return self._missing(record) and not (record.too_large or record.asked)

    def _finish(self, record: Record, job: Remote) -> None:
        name = title(record.request)
        self.store.wait(job, name)
        target = record.target
        _remove_abandoned(target)
        try:
            with replacing(target) as temporary:
                self.store.fetch(job, temporary)
                record.preliminary_hours = check_file(temporary, record.request)
        except OSError as error:
            if isinstance(error, DownloadFailed) or error.errno is None:
                raise
            raise not_written(error) from None
        record.forget_job()
        rank_zero_info(f"{name}: downloaded to {target}.")
        if record.preliminary_hours:
            rank_zero_info(
                f"{name}: {record.preliminary_hours} hours are preliminary (ERA5T) and may be revised; "
                "refetch_preliminary gets the final ones in three months."
            )

    def _job(self, record: Record) -> Remote:
        """The job of a request: that of an earlier run, or a new one, whose number is kept at once."""
        if record.job is not None:
            rank_zero_info(f"{title(record.request)}: going on with job {record.job}.")
            return self.store.attach(record.job)
        store, asked_before = self.store, record.asked
        record.asked = True
        record.save()
        try:
            job = store.submit(record.request, asked_before)
        except TooLarge:
            record.too_large = len(halves(record.request)) > 1
            record.forget_job()
            raise
        record.job = job.request_id
        record.save()
        return job


def _remove_abandoned(target: Path) -> None:
    """Remove what killed runs have left of unfinished downloads."""
    for temporary in target.parent.glob(f".{target.name}.*"):
        with suppress(OSError):
            if time.time() - temporary.stat().st_mtime > ABANDONED:
                temporary.unlink()
