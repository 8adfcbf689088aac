"""A public home for data files, on this machine."""

import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from datamodules import public_files

Serve = Callable[[dict[str, bytes]], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that does not exist yet, and no network."""
    monkeypatch.setattr(public_files, "BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def serve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """`serve({"small.csv": b"..."})`: the home of files of these names; for any other it answers 404."""
    contents: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = contents.get(self.path.rpartition("/")[-1])
            self.send_response(404 if content is None else 200)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        monkeypatch.setattr(public_files, "BASE_URL", f"http://127.0.0.1:{httpd.server_port}")
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield contents.update
        httpd.shutdown()
        thread.join()
