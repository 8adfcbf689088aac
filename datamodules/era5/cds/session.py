"""An HTTP session that keeps a deadline, and sends the key to the store of the account only."""

import http.client
import io
import socket
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from datamodules.era5.cds.account import Account
from datamodules.era5.cds.errors import DownloadFailed, FileRefused
from datamodules.era5.cds.retry import Deadline

KEY_HEADER = "PRIVATE-TOKEN"


class BoundedSession(requests.Session):
    """A session whose requests never wait beyond a deadline, however slowly a server sends.

    Requests with the key, and those that are more than questions, go to the server of the account alone, whatever its
    answers link or redirect to. Files need no key, and may come from elsewhere.

    Args:
        deadline: The deadline.
        account: The account.
    """

    def __init__(self, deadline: Deadline, account: Account) -> None:
        super().__init__()
        self.deadline, self.account = deadline, account
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
        """Check where a redirect leads, before requests removes headers: it does so for those that it knows only."""
        self._check_server(prepared_request)
        super().rebuild_auth(prepared_request, response)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send a request.

        Raises:
            DownloadFailed: It has the key or is more than a question, and would go to another server.
        """
        self._check_server(request)
        return super().send(request, **options)

    def _check_server(self, request: requests.PreparedRequest) -> None:
        is_private = KEY_HEADER in request.headers or request.method not in ("GET", "HEAD")
        if is_private and self.should_strip_auth(self.account.url, str(request.url)):
            parts = urlsplit(str(request.url))
            raise DownloadFailed(
                f"The Climate Data Store at {self.account.host} refers to another server, "
                f"{self.account.without_key(f'{parts.scheme}://{parts.netloc}')}, which would get your key: refused. "
                f"Check the address in CDSAPI_URL or ~/.cdsapirc."
            )


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
