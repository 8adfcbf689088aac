"""The ways in which a single call may fail."""

import time
from collections.abc import Callable

from tests.datamodules.era5.cds.server import Handler

Act = Callable[[Handler], bool]


def refuse(status: int, title: str = "", detail: str = "") -> Act:
    """Answer with an error, and repeat the key as a careless server might."""

    def act(handler: Handler) -> bool:
        said = {"title": title, "detail": f"{detail} {handler.headers.get('PRIVATE-TOKEN', '')}".strip()}
        handler.reply(said, status)
        return True

    return act


def stall(handler: Handler) -> bool:
    """Send nothing until the client disconnects."""
    handler.server.closing.wait(20)
    handler.hang_up()
    return True


def answer_late(seconds: float) -> Act:
    """Process the request, but answer after the client has timed out."""

    def act(handler: Handler) -> bool:
        # The job is there at once; only the answer takes its time.
        reply = handler.reply

        def late(*arguments: object) -> None:
            handler.server.closing.wait(seconds)
            reply(*arguments)

        handler.reply = late
        return False

    return act


def drop_answer(handler: Handler) -> bool:
    """Process the request, and close the connection without an answer."""
    handler.reply = lambda *arguments: handler.hang_up()
    return False


def cut(handler: Handler) -> bool:
    """Send half of the rest of a file, and close the connection."""
    first = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
    content = handler.job().content[first:]
    handler.send(content[: len(content) // 2], 206 if first else 200, {"Accept-Ranges": "bytes"}, length=len(content))
    handler.hang_up()
    return True


def trickle(handler: Handler) -> bool:
    """Send a file so slowly that it never completes, but never so slowly that a read times out."""
    content = handler.job().content
    handler.send(b"", 200, {"Accept-Ranges": "bytes"}, length=len(content) + 2**30)
    while not handler.server.closing.is_set():
        handler.wfile.write(content)
        time.sleep(0.05)
    return True


def drip(handler: Handler) -> bool:
    """Send an answer byte by byte: each read is short, and all of them together never end."""
    handler.send(b"", 200, {"Accept-Ranges": "bytes", "Content-Type": "application/json"}, length=2**30)
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b" ")
    return True


def drip_headers(handler: Handler) -> bool:
    """Send the headers of an answer byte by byte."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b"x")
    return True


def shorten(handler: Handler) -> bool:
    """Send half a file as if it were complete."""
    handler.send_file(handler.job().content[: len(handler.job().content) // 2])
    return True


def lengthen(handler: Handler) -> bool:
    """Announce a longer file than is sent."""
    content = handler.job().content
    handler.send(content, 200, {"Accept-Ranges": "bytes"}, length=len(content) + 10)
    return True


def talk_nonsense(handler: Handler) -> bool:
    """Answer with a web page, as the network of a hotel does."""
    handler.send(b"<html>Log in first</html>", 200, {"Content-Type": "text/html"})
    return True
