"""HTTP that ends in time, and takes the key to nobody else."""

import http.client
import io
import socket
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from datamodules.era5.cds.errors import FileRefused
from datamodules.era5.cds.retry import Deadline


class BoundedSession(requests.Session):
    """A session whose requests never wait beyond a deadline, however little at a time a server sends.

    Args:
        deadline: When everything must be done.
    """

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self.deadline = deadline
        self._streams: list[requests.Response] = []
        for scheme in ("http://", "https://"):
            self.mount(scheme, _BoundedAdapter(deadline))

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request, with what is left of the time.

        Raises:
            FileRefused: It was for a file, and there is none; the client would take this for an empty one.
        """
        response = super().request(*arguments, **{**options, "timeout": self.deadline.timeout()})
        if options.get("stream"):
            self._streams.append(response)
            if not response.ok:
                raise FileRefused(response)
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


class _BoundedAdapter(HTTPAdapter):
    """Makes connections, to servers and to proxies, that are read from with an eye on the clock."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self._bound(self.poolmanager)

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # urllib3's, which requests hides
        known = len(self.proxy_manager)
        manager = super().proxy_manager_for(*arguments, **options)
        if len(self.proxy_manager) > known:
            self._bound(manager)
        return manager

    def _bound(self, manager: Any) -> None:  # noqa: ANN401
        def respond(sock: socket.socket, *arguments: Any, **options: Any) -> http.client.HTTPResponse:
            return http.client.HTTPResponse(_Socket(sock, self._deadline), *arguments, **options)  # type: ignore[arg-type]

        pools = {}
        for scheme, pool in manager.pool_classes_by_scheme.items():
            ours = {"response_class": staticmethod(respond)}
            connection = type(pool.ConnectionCls.__name__, (pool.ConnectionCls,), ours)
            pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": connection})  # named so in errors
        manager.pool_classes_by_scheme = pools


class _Socket:
    """As much of a socket as an answer is read by."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Arrivals(self._sock, self._deadline))


class _Arrivals(io.RawIOBase):
    """What arrives by a socket: a timeout holds for one arrival only, so every further one gets what is left then."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401
        self._sock.settimeout(self._deadline.timeout())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()
