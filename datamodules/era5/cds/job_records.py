"""The state of each request, saved beside its file, so that a later run resumes where this one ends."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from datamodules.data_folder import find_cached, writable_folder
from datamodules.era5.cds.monthly_requests import Request, file_name
from gpvae.utils.atomic import replacing

FOLDER = "era5_cds"


@dataclass
class JobRecord:
    """A request, and the state of its job.

    Args:
        request: The request.
        asked: Whether it was sent, so that there may be a job even if its number is not known.
        job: The number of its job, if there is one to wait for.
        too_large: Whether the store accepts only halves of it.
        preliminary_hours: How many hours of its file are preliminary (ERA5T), to be replaced in two or three months.
    """

    request: Request
    asked: bool = False
    job: str | None = None
    too_large: bool = False
    preliminary_hours: int = 0

    @classmethod
    def load(cls, request: Request) -> "JobRecord":
        """The saved record of a request; a new one if there is none, or it is damaged.

        Args:
            request: The request.
        """
        path = find_cached(f"{FOLDER}/{_record_name(request)}")
        try:
            return cls(**{**json.loads(path.read_text()), "request": request}) if path is not None else cls(request)
        except (OSError, ValueError, TypeError):
            return cls(request)

    @property
    def file(self) -> Path | None:
        """The downloaded file; None if it is not here yet."""
        return find_cached(f"{FOLDER}/{file_name(self.request)}")

    @property
    def target(self) -> Path:
        """The path to download to."""
        return self.file or writable_folder(FOLDER) / file_name(self.request)

    def clear_job(self) -> None:
        """Forget the job: it has been downloaded, or will give no result."""
        self.asked, self.job = False, None
        self.save()

    def save(self) -> None:
        """Save the record."""
        with replacing(writable_folder(FOLDER) / _record_name(self.request)) as path:
            path.write_text(json.dumps(asdict(self)))


def _record_name(request: Request) -> str:
    return f"{file_name(request)}.json"
