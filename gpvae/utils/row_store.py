"""Tensors with a row for each series, computed for some series at a time and stored in memory or in files."""

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import torch
from torch import Tensor


class RowStore(Protocol):
    """A store for rows."""

    def empty(self, name: str, num_rows: int, like: Tensor) -> Tensor:
        """An uninitialised tensor for rows.

        Args:
            name: The name of the tensor.
            num_rows: The number of rows.
            like: Some of the rows `[B, ...]`, for their shape, type and device.
        """

    def flush(self) -> None:
        """Write rows to the disk, so that they survive a power failure."""


class Memory:
    """Rows in memory, on the device that computes them."""

    def empty(self, name: str, num_rows: int, like: Tensor) -> Tensor:
        """An uninitialised tensor, see `RowStore`."""
        return like.new_empty(num_rows, *like.shape[1:])

    def flush(self) -> None:
        """Do nothing, see `RowStore`."""


class Files:
    """Rows in memory-mapped files: they are read on access, and the system can reclaim their memory.

    Args:
        folder: The folder for the files.
        process: The rank of this process, from 0.
        num_processes: The number of processes; each has its own files.
    """

    def __init__(self, folder: Path, process: int = 0, num_processes: int = 1) -> None:
        self.folder, self.process, self.num_processes = folder, process, num_processes

    def path(self, name: str, process: int | None = None) -> Path:
        """The file of a tensor, of this process or another."""
        return self.folder / f"{name}.{self.process if process is None else process}_of_{self.num_processes}"

    def empty(self, name: str, num_rows: int, like: Tensor) -> Tensor:
        """An uninitialised tensor, see `RowStore`.

        Raises:
            OSError: The disk is too small.
        """
        path, shape = self.path(name), (num_rows, *like.shape[1:])
        size = like.element_size() * int(np.prod(shape))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # existing memory maps keep the old file
        try:
            with path.open("wb") as file:
                _allocate(file, size)  # otherwise a full disk would kill the process on a later write to the map
        except OSError as error:
            path.unlink(missing_ok=True)
            raise OSError(
                f"no disk space for {size / 1e9:.3g} GB in {path.parent} ({error.strerror}): choose a folder on a "
                "larger disk, fewer series, or shared_precision"
            ) from error
        return self.open(name, shape, like.dtype, write=True)

    def flush(self) -> None:
        """Write the files of this process to the disk, see `RowStore`."""
        for path in self.folder.glob(f"*.{self.process}_of_{self.num_processes}"):
            with path.open("r+b") as file:
                os.fsync(file.fileno())  # includes pages written through a memory map

    def open(
        self, name: str, shape: tuple[int, ...], dtype: torch.dtype, process: int | None = None, write: bool = False
    ) -> Tensor:
        """Open existing rows.

        Args:
            name: The name of the tensor.
            shape: Its shape.
            dtype: Its type.
            process: The rank of the process that wrote it; this one if not given.
            write: Whether changes are written to the file; if not, they stay in memory.
        """
        kind = torch.empty(0, dtype=dtype).numpy().dtype
        path, size = self.path(name, process), kind.itemsize * int(np.prod(shape))
        if not path.is_file() or path.stat().st_size != size:
            raise FileNotFoundError(f"{path} is missing or does not have {size:,} bytes")
        return torch.from_numpy(np.memmap(path, kind, "r+" if write else "c", shape=shape))


def _allocate(file: BinaryIO, size: int) -> None:
    """Reserve disk space for a file; where the system cannot, check the free space and set its size."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    elif shutil.disk_usage(Path(file.name).parent).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    else:
        file.truncate(size)


def compute_rows(
    store: RowStore,
    names: Sequence[str],
    series: Tensor,
    chunk_size: int,
    compute: Callable[[Tensor], tuple[Tensor, ...]],
) -> tuple[Tensor, ...]:
    """Compute and store rows for many series, some at a time.

    Args:
        store: The store for the rows.
        names: The names of the tensors.
        series: The series, `[S]`.
        chunk_size: The number of series at a time, two or more.
        compute: Computes for each name a tensor with a row for each of some series, `[B, ...]`; or with a single row
            for all series, `[1, ...]`, which stays in memory.
    """
    stored: list[Tensor] = []
    for begin in range(0, len(series), chunk_size):
        chunk = series[begin : begin + chunk_size]
        values = compute(chunk)
        if isinstance(store, Memory) and len(series) <= chunk_size:
            return values
        if not stored:
            stored = [
                value if len(value) < len(chunk) else store.empty(name, len(series), value)
                for name, value in zip(names, values, strict=True)
            ]
        for rows, value in zip(stored, values, strict=True):
            if len(rows) == len(series):
                rows[begin : begin + chunk_size] = value.to(rows.device)
    return tuple(stored)


def select_rows(rows: Tensor, index: Tensor) -> Tensor:
    """Some rows, on the device of the index; a single row for all series is returned itself."""
    return (rows if len(rows) == 1 else rows[index.to(rows.device)]).to(index.device)
