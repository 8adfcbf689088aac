"""Errors shown to the user as one message, without a traceback."""

import errno
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Packages whose errors and warnings are written for users and need no traceback.
OWN_PACKAGES = ("gpvae", "datamodules", "callbacks")
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_ACCESS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR)


def user_message(error: Exception) -> str | None:
    """Return the message of an error that the user can act on; None if a traceback is needed."""
    user_error = _find_user_error(error)
    return _disk_message(error) if user_error is None else str(user_error)


@contextmanager
def explain_errors(failure: str) -> Iterator[None]:
    """Raise any error as a ValueError that says what failed, except for user errors, which are raised as they are.

    Args:
        failure: What failed, the beginning of the message.
    """
    try:
        yield
    except Exception as error:
        if _find_user_error(error) is not None:
            raise
        reason = " ".join(str(error).split())
        raise ValueError(f"{failure}: {reason} ({type(error).__name__}; GPVAE_TRACEBACK=1 shows where)") from error


def is_user_error(error: BaseException) -> bool:
    """Whether an error was raised on purpose, by this package or by Lightning about its own options."""
    if "lightning" in sys.modules:  # otherwise, nothing of it has been raised
        from lightning.fabric.utilities.exceptions import MisconfigurationException

        if isinstance(error, MisconfigurationException):
            return True
    if not isinstance(error, ValueError | OSError | RuntimeError | ArithmeticError | TypeError | ImportError):
        return False
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    root = Path(__file__).resolve().parents[2]
    return any(raised_in.is_relative_to(root / package) for package in OWN_PACKAGES)


def _find_user_error(error: Exception) -> BaseException | None:
    """Return the error or its cause, as the parser wraps errors of constructors; None if neither is a user error."""
    return next((e for e in (error, error.__cause__) if e is not None and is_user_error(e)), None)


def _disk_message(error: Exception) -> str | None:
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return f"the disk is full ({error}): free some space; `fit --ckpt_path last` resumes the run"
    if isinstance(error, OSError) and error.errno in NO_ACCESS:
        return f"a file cannot be read or written ({error}): change its permissions, or give another path"
    return None
