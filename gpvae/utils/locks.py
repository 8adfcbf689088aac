"""File locks between processes that are started independently of each other.

The package filelock does not replace this module. Where the disk supports no locks, it raises, or falls back to files
that outlive a killed process; it refuses a lock file that another user made; and it leaves lock files behind. Wrapping
it to behave as below takes as much code as flock itself.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lightning.pytorch.utilities import rank_zero_info

if sys.platform != "win32":
    import fcntl

POLL_INTERVAL = 0.2  # seconds


@contextmanager
def exclusive(path: Path, reason: str) -> Iterator[None]:
    """Hold a lock; wait for it if another process holds it.

    Args:
        path: The lock file.
        reason: What the other process does, for the log.
    """
    descriptor = acquire(path)
    if descriptor is None:
        rank_zero_info(f"Waiting: {reason}.")
        descriptor = acquire(path, timeout=math.inf)
    assert descriptor is not None
    try:
        yield
    finally:
        release(path, descriptor)


def acquire(path: Path, timeout: float = 0.0) -> int | None:
    """Acquire a lock, which is held until it is released or this process ends, however it ends.

    Where the system or the disk supports no locks, this always succeeds.

    Args:
        path: The lock file; it is created if needed.
        timeout: Seconds to keep trying; a killed process may take a while to exit.

    Returns:
        The file descriptor that holds the lock; None if another process holds it.
    """
    end = time.monotonic() + timeout
    while (descriptor := _try_acquire(path)) is None and time.monotonic() < end:
        time.sleep(POLL_INTERVAL)
    return descriptor


def release(path: Path, descriptor: int) -> None:
    """Release a lock, and remove its file.

    Args:
        path: The lock file.
        descriptor: The result of `acquire`.
    """
    with suppress(OSError):  # a file that cannot be removed does no harm
        path.unlink()  # before the lock is released: afterwards it may be another process's
    os.close(descriptor)


def excludes_others(path: Path) -> bool:
    """Whether a lock that is held keeps others out: without support by the disk, it can be acquired twice.

    Args:
        path: The lock file.
    """
    descriptor = acquire(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def _try_acquire(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # made by another user
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
