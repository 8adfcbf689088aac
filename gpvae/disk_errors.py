"""Errors of disks, in words; whoever meets them, in this package or another, they are nobody's fault but the disk's."""

import errno

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR)


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
