"""Threads take turns with netCDF files, because the C libraries behind them are not safe for threads.

xarray takes a lock of its own while it opens files and reads values, but not while it reads attributes or writes them.
Two threads that open files may therefore crash the process, unless they take turns here.
"""

import threading

from xarray.backends.netCDF4_ import NETCDF4_PYTHON_LOCK

#: For calls of xarray that take the lock of xarray, and cannot be given another one: writing.
TURNS = threading.RLock()


class NetCDFLock:
    """A turn, and the lock of xarray; a thread may take it several times."""

    def __init__(self) -> None:
        self._depth = 0

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock; return whether it was taken.

        Args:
            blocking: Wait until no other thread has it.
        """
        if not TURNS.acquire(blocking):
            return False
        if self._depth == 0 and not NETCDF4_PYTHON_LOCK.acquire(blocking):
            TURNS.release()
            return False
        self._depth += 1
        return True

    def release(self) -> None:
        """Release the lock once; other threads may take it when it has been released as often as it was taken."""
        self._depth -= 1
        if self._depth == 0:
            NETCDF4_PYTHON_LOCK.release()
        TURNS.release()

    def __enter__(self) -> "NetCDFLock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


#: For calls of netCDF4, and for datasets that xarray opens: `open_dataset(..., lock=LOCK)`.
LOCK = NetCDFLock()
