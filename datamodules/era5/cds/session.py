"""An HTTP session that keeps a deadline, and sends the key to no other server."""

import http.client
import io
import socket
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from datamodules.era5.cds.errors import FileRefused
from datamodules.era5.cds.retry import Deadline


class BoundedSession(requests.Session):
    """A session whose requests never wait beyond a deadline, however slowly a server sends.

    Args:
        deadline: The deadline.
    """

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self.deadline = deadline
        self._streams: list[requests.Response] = []
        for scheme in ("http://", "https://"):
            self.mount(scheme, _BoundedAdapter(deadline))

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request, with the remaining time as its timeout.

        Raises:
            FileRefused: The response to a request for a file is an error; the client would take it for an empty file.
        """
        response = super().request(*arguments, **{**options, "timeout": self.deadline.timeout()})
        if options.get("stream"):
            self._streams.append(response)
            if not response.ok:
                raise FileRefused(response)
        return response

    def close(self) -> None:
        """Close all connections, including unfinished downloads."""
        for response in self._streams:
            response.close()
        super().close()

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Drop the key when a server redirects to another one; requests does so only for headers that it knows."""
        super().rebuild_auth(prepared_request, response)
        if self.should_strip_auth(str(response.request.url), str(prepared_request.url)):
            prepared_request.headers.pop("PRIVATE-TOKEN", None)


class _BoundedAdapter(HTTPAdapter):
    """Opens connections, to servers and to proxies, whose reads keep the deadline."""

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
            return http.client.HTTPResponse(_BoundedSocket(sock, self._deadline), *arguments, **options)  # type: ignore[arg-type]

        pools = {}
        for scheme, pool in manager.pool_classes_by_scheme.items():
            overrides = {"response_class": staticmethod(respond)}
            connection = type(pool.ConnectionCls.__name__, (pool.ConnectionCls,), overrides)
            pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": connection})  # errors show the name
        manager.pool_classes_by_scheme = pools


class _BoundedSocket:
    """The part of a socket that `http.client.HTTPResponse` uses."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_SocketReader(self._sock, self._deadline))


class _SocketReader(io.RawIOBase):
    """Reads from a socket: its timeout applies to a single read, so each read gets the time that remains."""

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
