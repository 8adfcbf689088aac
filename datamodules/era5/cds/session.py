"""HTTP that ends in time, and takes the key to nobody else."""

from typing import Any

import requests

from datamodules.era5.cds.patience import Deadline


class BoundedSession(requests.Session):
    """A session whose requests never wait beyond a deadline.

    Args:
        deadline: When everything must be done.
    """

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self.deadline = deadline
        self._streams: list[requests.Response] = []

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request, with what is left of the time."""
        response = super().request(*arguments, **{**options, "timeout": self.deadline.timeout()})
        if options.get("stream"):
            self._streams.append(response)
        return response

    def close(self) -> None:
        """Hang up, in the middle of files too."""
        for response in self._streams:
            response.close()
        super().close()

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Leave the key behind where a server sends us to another one; requests does so for keys it knows of."""
        super().rebuild_auth(prepared_request, response)
        if self.should_strip_auth(str(response.request.url), str(prepared_request.url)):
            prepared_request.headers.pop("PRIVATE-TOKEN", None)
