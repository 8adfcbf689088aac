"""The ways in which a download may fail."""

import requests


class DownloadFailed(ConnectionError):
    """A download failed."""


class TransientFailure(DownloadFailed):
    """A failure that may be over in a moment: the same call is worth another try."""


class RequestTooLarge(DownloadFailed):
    """A request that the store accepts only in smaller pieces."""


class JobFailed(DownloadFailed):
    """A job that will give no usable result.

    Args:
        message: What happened.
        again: Whether the same request, sent again, may succeed.
    """

    def __init__(self, message: str, again: bool = True) -> None:
        super().__init__(message)
        self.again = again


class FileRefused(Exception):
    """An error response in place of a file.

    Args:
        response: The response.
    """

    def __init__(self, response: requests.Response) -> None:
        super().__init__(f"{response.status_code} {response.reason}")
        self.response = response
