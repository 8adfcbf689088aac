"""Whatever the client of the Climate Data Store raises, in words that say what to do."""

import errno
from collections.abc import Callable
from typing import TypeVar

import requests
from ecmwf.datastores.processing import ProcessingFailedError

from datamodules.era5.cds.account import ADDRESS, PROFILE, Account
from datamodules.era5.cds.errors import DownloadFailed, FileRefused, JobLost, Passing, TooLarge

LICENCES = "https://cds.climate.copernicus.eu/datasets/reanalysis-era5-single-levels?tab=download#manage-licences"
REQUESTS = "https://cds.climate.copernicus.eu/requests"
LONGEST = 300  # characters of what the store says
FULL = (errno.ENOSPC, errno.EDQUOT)

T = TypeVar("T")


def plainly(call: Callable[[], T], account: Account) -> T:
    """What a call gives, or an error for people.

    The error has no other behind it, for that would hold what was sent to the server: the key.

    Args:
        call: Asks the client for something.
        account: As whom.

    Raises:
        DownloadFailed: The store did not give it.
        OSError: It cannot be written.
    """
    try:
        return call()
    except DownloadFailed:
        raise
    except Exception as error:  # also whatever a strange answer makes of the client
        failure = _explained(error, account)
    raise failure


def _explained(error: Exception, account: Account) -> OSError:
    if isinstance(error, requests.HTTPError | FileRefused) and error.response is not None:
        of_job = isinstance(error, FileRefused) or "/jobs/" in str(error.response.url)
        return _refusal(error.response, account.host, _said(error.response, account), of_job)
    reason = _line(str(error) or repr(error), account)
    if isinstance(error, ProcessingFailedError):  # somebody has deleted it
        return JobLost(f"The job gave nothing ({reason}).")
    if isinstance(error, requests.JSONDecodeError) or not isinstance(error, OSError):
        return Passing(f"The Climate Data Store at {account.host} gave a strange answer ({reason}).")
    return _unreachable(error, account) if isinstance(error, requests.RequestException) else not_written(error)


def _refusal(response: requests.Response, host: str, said: str, of_job: bool) -> DownloadFailed:
    status, words = response.status_code, said.lower()
    if status == 401:
        return DownloadFailed(
            f"The Climate Data Store at {host} does not know the key ({said}): copy it again from {PROFILE} into "
            "CDSAPI_KEY or ~/.cdsapirc."
        )
    if status == 403 and "licence" in words:
        return DownloadFailed(f"The licence of ERA5 is not accepted yet: accept it at {LICENCES} and run again.")
    if status == 403 and "cost limits" in words:
        return TooLarge(f"The request is too large for the Climate Data Store ({said}).")
    if status == 429 or "queued requests" in words:
        kind = JobLost if of_job and status == 400 else Passing
        return kind(f"The Climate Data Store takes no more requests for now ({said}): see yours at {REQUESTS}.")
    if of_job and status in (403, 404, 410):
        return JobLost(f"The Climate Data Store no longer has the job or its results ({said}).")
    if of_job and status == 400:
        return JobLost(f"The job gave nothing ({said}).", again="rejected" not in words)
    if status == 400:
        return DownloadFailed(f"The Climate Data Store does not take the request ({said}): check variables and area.")
    if status == 404:
        return DownloadFailed(
            f"There is no ERA5 at {host} ({said}): the address in CDSAPI_URL or ~/.cdsapirc should be {ADDRESS}."
        )
    if status == 408 or status >= 500:
        return Passing(f"The Climate Data Store at {host} is in trouble ({said}): run again later.")
    return DownloadFailed(f"The Climate Data Store at {host} refused ({said}).")


def _unreachable(error: requests.RequestException, account: Account) -> Passing:
    cause = error.args[0] if error.args else error
    reason = _line(str(getattr(cause, "reason", cause)), account).rstrip(".")
    what = "does not answer" if isinstance(error, requests.Timeout) else "cannot be reached, or breaks off"
    return Passing(f"The Climate Data Store at {account.host} {what} ({reason}): check the network.")


def not_written(error: OSError) -> OSError:
    """What kept a file from being written.

    Args:
        error: As the system tells it.
    """
    if error.errno in FULL:
        return OSError("The disk is full: make room, or set GPVAE_DATA_DIR to a folder with more of it.")
    return OSError(f"A download cannot be written: {error}. Set GPVAE_DATA_DIR to a folder you can write to.")


def _said(response: requests.Response, account: Account) -> str:
    """What the store says of itself, in one line."""
    try:
        answer = response.json()
        parts = [str(answer[key]) for key in ("title", "traceback", "detail") if answer.get(key)]
    except (ValueError, AttributeError, requests.RequestException):  # no JSON, none of an object, or not all of it
        parts = []
    return _line(f"{response.status_code} {': '.join(parts) or response.reason or ''}", account)


def _line(text: str, account: Account) -> str:
    """What others wrote, in one line that is not too long, without the key."""
    words = " ".join(account.without_key(text).split())  # before the cut, which may leave a part of it
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"
