"""Checksums of files."""

import zipfile
import zlib
from pathlib import Path

from torch import Tensor


def checksum(values: Tensor) -> int:
    """The CRC-32 of the values of a tensor, as they are in memory or in a file that it maps.

    Args:
        values: The tensor, contiguous.
    """
    return zlib.crc32(values.numpy().reshape(-1).view("u1").data) if values.numel() else 0


def check_archive(path: Path) -> int:
    """Raise if a file that torch saved has a part with a wrong checksum; torch does not check them.

    Args:
        path: The file.

    Returns:
        The number of bytes that its parts take when they are unpacked.

    Raises:
        zipfile.BadZipFile: A checksum is wrong.
    """
    with zipfile.ZipFile(path) as archive:
        if (damaged := archive.testzip()) is not None:
            raise zipfile.BadZipFile(damaged)
        return sum(part.file_size for part in archive.infolist())
