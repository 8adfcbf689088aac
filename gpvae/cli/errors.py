"""Errors as a sentence for people, without the traceback that only programmers read."""

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lightning.fabric.utilities.exceptions import MisconfigurationException

#: Packages whose errors are written for people, so that no traceback is needed to understand them.
OURS = ("gpvae", "datamodules", "callbacks")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR)


def spoken(error: Exception) -> str | None:
    """What an error has to say to people; None if it was written for none.

    Args:
        error: The error.
    """
    causes = (error, error.__cause__)  # the parser wraps what constructors raise
    told = next((cause for cause in causes if cause is not None and is_for_people(cause)), None)
    return disk_error(error) if told is None else str(told)


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Say of any error what could not be done, unless it says so itself.

    Args:
        what: What could not be done.
    """
    try:
        yield
    except Exception as error:
        if any(cause is not None and is_for_people(cause) for cause in (error, error.__cause__)):
            raise
        reason = " ".join(str(error).split())
        raise ValueError(f"{what}: {reason} ({type(error).__name__}; GPVAE_TRACEBACK=1 shows where)") from error


def is_for_people(error: BaseException) -> bool:
    """Whether an error was raised on purpose, by this package or by Lightning about its own options."""
    if isinstance(error, MisconfigurationException):
        return True
    if not isinstance(error, ValueError | OSError | RuntimeError | ArithmeticError | TypeError):
        return False
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    here = Path(__file__).resolve().parents[2]
    return any(raised_in.is_relative_to(here / package) for package in OURS)


def disk_error(error: BaseException) -> str | None:
    """What a disk has against a program, and what to do about it; None if an error is not of a disk.

    Args:
        error: The error.
    """
    if not isinstance(error, OSError) or error.errno not in (*FULL, *CLOSED):
        return None
    if error.errno in FULL:
        return f"the disk is full ({error}): make room; `fit` goes on with --ckpt_path last"
    return f"a file cannot be read or written ({error}): let this user do so, or give another place"
