"""What is known of each request: kept beside its file, so that a later run goes on where this one ends."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from datamodules.data_folder import find_cached, writable_folder
from datamodules.era5.cds.monthly_requests import Request, file_name
from gpvae.utils.atomic import replacing

FOLDER = "era5_cds"


@dataclass
class Record:
    """A request and what became of it.

    Args:
        request: The request.
        asked: Whether it was sent, so that there may be a job even if we do not know its number.
        job: The number of its job, if it waits for one.
        too_large: Whether the store takes only halves of it.
        preliminary_hours: How many hours of its file are preliminary (ERA5T), to be replaced in two or three months.
    """

    request: Request
    asked: bool = False
    job: str | None = None
    too_large: bool = False
    preliminary_hours: int = 0

    @classmethod
    def of(cls, request: Request) -> "Record":
        """What is known of a request.

        Args:
            request: The request.
        """
        path = find_cached(f"{FOLDER}/{_record_name(request)}")
        try:
            return cls(**{**json.loads(path.read_text()), "request": request}) if path is not None else cls(request)
        except (OSError, ValueError, TypeError):  # damaged: then nothing is known
            return cls(request)

    @property
    def file(self) -> Path | None:
        """Its file, if that is here."""
        return find_cached(f"{FOLDER}/{file_name(self.request)}")

    @property
    def target(self) -> Path:
        """Where its file is, or will be."""
        return self.file or writable_folder(FOLDER) / file_name(self.request)

    def forget_job(self) -> None:
        """Nothing is to be had from its job any more."""
        self.asked, self.job = False, None
        self.save()

    def save(self) -> None:
        """Keep what is known."""
        with replacing(writable_folder(FOLDER) / _record_name(self.request)) as path:
            path.write_text(json.dumps(asdict(self)))


def _record_name(request: Request) -> str:
    return f"{file_name(request)}.json"
