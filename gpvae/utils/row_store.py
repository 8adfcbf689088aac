"""Tensors with a row for each series: computed for some series at a time, and kept in memory or in files."""

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import torch
from torch import Tensor


class Place(Protocol):
    """Where rows are kept."""

    def empty(self, name: str, num_rows: int, like: Tensor) -> Tensor:
        """Room for rows like those of a tensor `[B, ...]`.

        Args:
            name: What to call them.
            num_rows: How many.
            like: Some of them.
        """

    def flush(self) -> None:
        """Have rows that are complete where a loss of power leaves them."""


class Memory:
    """Rows in memory, on the device that they are computed on."""

    def empty(self, name: str, num_rows: int, like: Tensor) -> Tensor:
        """Room for rows, see `Place`."""
        return like.new_empty(num_rows, *like.shape[1:])

    def flush(self) -> None:
        """Nothing to do, see `Place`."""


class Files:
    """Rows in files that are mapped into memory: what is looked at is read, and memory is given back when it is short.

    Args:
        folder: Where the files go.
        process: Which of the processes this is, from 0.
        num_processes: How many there are; each has files of its own.
    """

    def __init__(self, folder: Path, process: int = 0, num_processes: int = 1) -> None:
        self.folder, self.process, self.num_processes = folder, process, num_processes

    def path(self, name: str, process: int | None = None) -> Path:
        """The file of some rows, of this process or another."""
        return self.folder / f"{name}.{self.process if process is None else process}_of_{self.num_processes}"

    def empty(self, name: str, num_rows: int, like: Tensor) -> Tensor:
        """Room for rows, see `Place`.

        Raises:
            OSError: The disk is too small.
        """
        path, shape = self.path(name), (num_rows, *like.shape[1:])
        size = like.element_size() * int(np.prod(shape))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # whoever still looks at the old file keeps it
        try:
            with path.open("wb") as file:
                _allocate(file, size)  # else a full disk would end the process later on
        except OSError as error:
            path.unlink(missing_ok=True)
            raise OSError(
                f"there is no room for {size / 1e9:.3g} GB in {path.parent} ({error.strerror}): give a folder on a "
                "larger disk, fewer series, or shared_precision"
            ) from error
        return self.open(name, shape, like.dtype, write=True)

    def flush(self) -> None:
        """Have what this process has written on the disk, see `Place`."""
        for path in self.folder.glob(f"*.{self.process}_of_{self.num_processes}"):
            with path.open("r+b") as file:
                os.fsync(file.fileno())  # what is mapped included

    def open(
        self, name: str, shape: tuple[int, ...], dtype: torch.dtype, process: int | None = None, write: bool = False
    ) -> Tensor:
        """Look at rows that are there.

        Args:
            name: What they are called.
            shape: Their shape.
            dtype: Their type.
            process: Of which process; this one if not given.
            write: Whether they may be changed; if not, changes stay in memory.
        """
        kind = torch.empty(0, dtype=dtype).numpy().dtype
        path, size = self.path(name, process), kind.itemsize * int(np.prod(shape))
        if not path.is_file() or path.stat().st_size != size:
            raise FileNotFoundError(f"there is no {path} of {size:,} bytes")
        return torch.from_numpy(np.memmap(path, kind, "r+" if write else "c", shape=shape))


def _allocate(file: BinaryIO, size: int) -> None:
    """Give a file its size and its room on the disk; only the size where the system knows no other way."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    elif shutil.disk_usage(Path(file.name).parent).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    else:
        file.truncate(size)


def fill(
    place: Place, names: Sequence[str], series: Tensor, at_once: int, compute: Callable[[Tensor], tuple[Tensor, ...]]
) -> tuple[Tensor, ...]:
    """Compute rows for many series, some at a time.

    Args:
        place: Where to keep them.
        names: What to call them.
        series: Which series, `[S]`.
        at_once: How many at a time, two or more.
        compute: Gives a tensor of rows for some series, `[B, ...]`, for each name; or one row for all, `[1, ...]`,
            which is kept as one, in memory.
    """
    kept: list[Tensor] = []
    for begin in range(0, len(series), at_once):
        some = series[begin : begin + at_once]
        values = compute(some)
        if isinstance(place, Memory) and len(series) <= at_once:
            return values
        if not kept:
            kept = [
                value if len(value) < len(some) else place.empty(name, len(series), value)
                for name, value in zip(names, values, strict=True)
            ]
        for rows, value in zip(kept, values, strict=True):
            if len(rows) == len(series):
                rows[begin : begin + at_once] = value.to(rows.device)
    return tuple(kept)


def take(rows: Tensor, places: Tensor) -> Tensor:
    """Some rows, on the device of the numbers of their places; one row for all as it is."""
    return (rows if len(rows) == 1 else rows[places.to(rows.device)]).to(places.device)
