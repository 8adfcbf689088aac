"""Translates what the client of the Climate Data Store raises into errors that say what to do."""

import errno
from collections.abc import Callable
from typing import TypeVar

import requests
from ecmwf.datastores.processing import ProcessingFailedError

from datamodules.era5.cds.account import ADDRESS, PROFILE, Account
from datamodules.era5.cds.errors import DownloadFailed, FileRefused, JobFailed, RequestTooLarge, TransientFailure

LICENCES = "https://cds.climate.copernicus.eu/datasets/reanalysis-era5-single-levels?tab=download#manage-licences"
REQUESTS = "https://cds.climate.copernicus.eu/requests"
MAX_LENGTH = 300  # characters quoted of a message from the store
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)

T = TypeVar("T")


def translate_errors(call: Callable[[], T], account: Account) -> T:
    """The result of a call to the client; what it raises is translated.

    The new error has no cause and no context: those would hold what was sent to the server, including the key.

    Args:
        call: Calls the client.
        account: The account that the client uses.

    Raises:
        DownloadFailed: The call failed.
        OSError: A file cannot be written.
    """
    try:
        return call()
    except DownloadFailed:
        raise
    except Exception as error:  # anything: the client does not validate responses
        failure = _translate(error, account)
    raise failure


def _translate(error: Exception, account: Account) -> OSError:
    if isinstance(error, requests.HTTPError | FileRefused) and error.response is not None:
        of_job = isinstance(error, FileRefused) or "/jobs/" in str(error.response.url)
        return _translate_response(error.response, account.host, _summary(error.response, account), of_job)
    reason = _one_line(str(error) or repr(error), account)
    if isinstance(error, ProcessingFailedError):  # the job was deleted
        return JobFailed(f"The job gave no result ({reason}).")
    if isinstance(error, requests.JSONDecodeError) or not isinstance(error, OSError):
        return TransientFailure(f"The Climate Data Store at {account.host} gave an unexpected answer ({reason}).")
    return _unreachable(error, account) if isinstance(error, requests.RequestException) else write_error(error)


def _translate_response(response: requests.Response, host: str, summary: str, of_job: bool) -> DownloadFailed:
    status, words = response.status_code, summary.lower()
    if status == 401:
        return DownloadFailed(
            f"The Climate Data Store at {host} does not know the key ({summary}): copy it again from {PROFILE} into "
            "CDSAPI_KEY or ~/.cdsapirc."
        )
    if status == 403 and "licence" in words:
        return DownloadFailed(f"The licence of ERA5 is not accepted yet: accept it at {LICENCES} and run again.")
    if status == 403 and "cost limits" in words:
        return RequestTooLarge(f"The request is too large for the Climate Data Store ({summary}).")
    if status == 429 or "queued requests" in words:
        kind = JobFailed if of_job and status == 400 else TransientFailure
        return kind(f"The Climate Data Store accepts no more requests for now ({summary}): see yours at {REQUESTS}.")
    if of_job and status in (403, 404, 410):
        return JobFailed(f"The Climate Data Store no longer has the job or its results ({summary}).")
    if of_job and status == 400:
        return JobFailed(f"The job gave no result ({summary}).", again="rejected" not in words)
    if status == 400:
        return DownloadFailed(
            f"The Climate Data Store does not accept the request ({summary}): check variables and area."
        )
    if status == 404:
        return DownloadFailed(
            f"There is no ERA5 at {host} ({summary}): the address in CDSAPI_URL or ~/.cdsapirc should be {ADDRESS}."
        )
    if status == 408 or status >= 500:
        return TransientFailure(f"The Climate Data Store at {host} has a server error ({summary}): run again later.")
    return DownloadFailed(f"The Climate Data Store at {host} refused the request ({summary}).")


def _unreachable(error: requests.RequestException, account: Account) -> TransientFailure:
    cause = error.args[0] if error.args else error
    reason = _one_line(str(getattr(cause, "reason", cause)), account).rstrip(".")
    what = "does not answer" if isinstance(error, requests.Timeout) else "cannot be reached, or breaks off"
    return TransientFailure(f"The Climate Data Store at {account.host} {what} ({reason}): check the network.")


def write_error(error: OSError) -> OSError:
    """An error that says what to do where a download cannot be written.

    Args:
        error: The error of the operating system.
    """
    if error.errno in DISK_FULL:
        return OSError("The disk is full: make room, or set GPVAE_DATA_DIR to a folder on a larger disk.")
    return OSError(f"A download cannot be written: {error}. Set GPVAE_DATA_DIR to a folder you can write to.")


def _summary(response: requests.Response, account: Account) -> str:
    """Status and message of a response, in one line."""
    try:
        answer = response.json()
        parts = [str(answer[key]) for key in ("title", "traceback", "detail") if answer.get(key)]
    except (ValueError, AttributeError, requests.RequestException):  # not JSON, not an object, or incomplete
        parts = []
    return _one_line(f"{response.status_code} {': '.join(parts) or response.reason or ''}", account)


def _one_line(text: str, account: Account) -> str:
    """A text in one line of limited length, without the key."""
    words = " ".join(account.without_key(text).split())  # before it is cut, which may leave part of the key
    return words if len(words) <= MAX_LENGTH else f"{words[:MAX_LENGTH]}…"
