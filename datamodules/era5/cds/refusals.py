"""The ways in which a download may fail, for those who can do something about it."""


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
