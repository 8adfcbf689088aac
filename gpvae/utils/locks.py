"""One process at a time, also among runs that know nothing of each other."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lightning.pytorch.utilities import rank_zero_info

if sys.platform != "win32":
    import fcntl

POLL = 0.2  # seconds


@contextmanager
def alone(path: Path, reason: str) -> Iterator[None]:
    """Wait until no other process is within, whose end, however it ends, lets the next one in.

    Args:
        path: The file that stands for the lock.
        reason: What the others do, in words.
    """
    told = False
    while (held := hold(path)) is None:
        if not told:
            rank_zero_info(f"Waiting: {reason}.")
            told = True
        time.sleep(POLL)
    try:
        yield
    finally:
        let_go(path, held)


def hold(path: Path) -> int | None:
    """Hold a file until it is let go or this process ends, however it ends; nothing if another process holds it.

    Where the system or the disk knows no such thing, nobody waits.

    Args:
        path: The file, made if need be.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # another user's
        descriptor = os.open(path, os.O_RDONLY)
    if sys.platform == "win32":
        return descriptor
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):  # another process holds it, or has just removed it
        pass
    except OSError:  # no locks on this disk
        return descriptor
    os.close(descriptor)
    return None


def hold_in_time(path: Path, seconds: float) -> int | None:
    """Hold a file; nothing if another process holds it, and goes on doing so.

    Args:
        path: The file, made if need be.
        seconds: How long to go on trying: a process that was killed may take a while to be gone.
    """
    until = time.monotonic() + seconds
    while (held := hold(path)) is None and time.monotonic() < until:
        time.sleep(POLL)
    return held


def let_go(path: Path, held: int) -> None:
    """Let others hold a file, and remove it.

    Args:
        path: The file.
        held: What `hold` gave.
    """
    with suppress(OSError):  # one that cannot be removed does no harm
        path.unlink()  # while nobody else can hold it
    os.close(held)
