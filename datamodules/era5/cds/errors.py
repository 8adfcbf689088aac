"""The ways in which a download may fail, for those who can do something about it."""

import requests


class DownloadFailed(ConnectionError):
    """A download that did not come about."""


class Passing(DownloadFailed):
    """Trouble that may be over in a moment."""


class TooLarge(DownloadFailed):
    """A request that the store takes only in pieces."""


class JobLost(DownloadFailed):
    """A job that will give nothing any more.

    Args:
        message: What happened.
        again: Whether the same request, sent again, may well give something.
    """

    def __init__(self, message: str, again: bool = True) -> None:
        super().__init__(message)
        self.again = again


class FileRefused(Exception):
    """An error that came instead of a file.

    Args:
        response: The answer.
    """

    def __init__(self, response: requests.Response) -> None:
        super().__init__(f"{response.status_code} {response.reason}")
        self.response = response
