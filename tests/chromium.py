"""The browser, without a window."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

PROGRAM = shutil.which("chromium")
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars"),
]
TRIES = 3

needed = pytest.mark.skipif(PROGRAM is None, reason="there is no chromium on the PATH")


def browse(address: str, *options: str) -> str:
    """What the browser prints; on a busy machine it may hang or break off, and is started again."""
    for last in (*[False] * (TRIES - 1), True):
        with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            command = [str(PROGRAM), *QUIET, f"--user-data-dir={Path(profile)}", *options, address]
            try:
                return subprocess.run(command, capture_output=True, text=True, timeout=200, check=True).stdout
            except subprocess.SubprocessError:
                if last:
                    raise
    raise AssertionError("no try was the last")
