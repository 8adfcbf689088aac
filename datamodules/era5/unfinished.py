"""Folders that are there whole or not at all, and an end to what is left of those that never became whole."""

import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpvae.utils.locks import hold

UNFINISHED = "making-"
ABANDONED = 24 * 3600.0  # seconds after which a folder that nobody has written to is nobody's any more


@contextmanager
def becoming(folder: Path) -> Iterator[Path]:
    """Write into the folder that is given, and it gets its name at the end; if anything fails, nothing is left of it.

    Args:
        folder: The folder; the one that it is in is there.
    """
    unfinished = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
    try:
        yield unfinished
        try:
            unfinished.replace(folder)
        except OSError:
            if not folder.is_dir():
                raise  # else, on a disk that knows no locks, another process was faster, and made the same
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def remove_abandoned(folder: Path, lock: Path) -> None:
    """Remove what processes that were killed have left, and nothing that one may still be writing.

    Folders of other names are under other locks, and those of other machines under locks that may hold on one machine
    only: they are removed when they are old.

    Args:
        folder: What they were to become.
        lock: The lock that everybody who writes it holds; held by us.
    """
    nobody_writes_it = _excludes(lock)
    for path in folder.parent.glob(f"{UNFINISHED}*"):
        if (nobody_writes_it and path.name.startswith(_prefix(folder))) or _seconds_since(path) > ABANDONED:
            shutil.rmtree(path, ignore_errors=True)


def _prefix(folder: Path) -> str:
    machine = re.sub(r"\W", "_", platform.node())
    return f"{UNFINISHED}{folder.name}-{machine}-"


def _excludes(lock: Path) -> bool:
    """Whether a lock that is held keeps others out: where the disk knows no locks, it can be held once more."""
    held_again = hold(lock)
    if held_again is None:
        return True
    os.close(held_again)
    return False


def _seconds_since(folder: Path) -> float:
    """How long ago something was written to a folder."""
    try:
        return time.time() - max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    except OSError:  # it has just become whole, or is removed
        return 0.0
