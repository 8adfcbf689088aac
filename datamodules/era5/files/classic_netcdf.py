"""The expected size of a classic netCDF file: the library reads missing values at its end as zeros."""

import struct
from pathlib import Path
from typing import BinaryIO

TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
DIMENSIONS, VARIABLES, ATTRIBUTES = 10, 11, 12
MAX_HEADER = 16 * 2**20  # bytes: a damaged count must not make us read on without end


def expected_size(path: Path) -> int:
    """The minimum size of a complete file in bytes, from its header (netCDF classic format specification).

    Args:
        path: A file that begins with `CDF`.

    Raises:
        ValueError: The header itself is truncated or damaged.
    """
    with path.open("rb") as file:
        try:
            return _Header(file).data_end()
        except (struct.error, KeyError, IndexError) as error:
            raise ValueError("its header is truncated or damaged") from error


class _Header:
    """Reads the header, field by field."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.version = file.read(4)[3]

    def data_end(self) -> int:
        streaming = 2**64 - 1 if self.version == 5 else 2**32 - 1
        num_records = self._count()
        dimensions = [self._named_count() for _ in range(self._list(DIMENSIONS))]
        self._attributes()
        fixed_end, last_record = 0, 0
        record_sizes = []
        for _ in range(self._list(VARIABLES)):
            self._skip_name()
            shape = [dimensions[self._count()] for _ in range(self._count())]
            self._attributes()
            size = TYPE_SIZES[self._integer(4)]
            self._count()  # vsize, which overflows for large variables, so it is computed here
            begin = self._integer(4 if self.version == 1 else 8)
            records = bool(shape) and shape[0] == 0
            for length in shape[1:] if records else shape:
                size *= length
            if records:
                record_sizes.append(size)
                last_record = max(last_record, begin + size)
            else:
                fixed_end = max(fixed_end, begin + size)
        fixed_end = max(fixed_end, self.file.tell())
        if not record_sizes or num_records in (0, streaming):
            return fixed_end
        if len(record_sizes) > 1:  # the records of a lone variable are not padded
            record_sizes = [-(-size // 4) * 4 for size in record_sizes]
        return max(fixed_end, last_record + (num_records - 1) * sum(record_sizes))

    def _integer(self, size: int) -> int:
        return struct.unpack(">i" if size == 4 else ">q", self._read(size))[0]

    def _count(self) -> int:
        size = 8 if self.version == 5 else 4
        return struct.unpack(">Q" if size == 8 else ">I", self._read(size))[0]

    def _read(self, size: int) -> bytes:
        if self.file.tell() + size > MAX_HEADER:
            raise struct.error("too long for a header")
        return self.file.read(size)

    def _list(self, kind: int) -> int:
        tag, length = self._integer(4), self._count()
        if tag not in (0, kind):
            raise KeyError(tag)
        return length

    def _skip(self, length: int) -> None:
        padded = -(-length // 4) * 4
        if len(self._read(padded)) < padded:
            raise struct.error("truncated")

    def _skip_name(self) -> None:
        self._skip(self._count())

    def _named_count(self) -> int:
        self._skip_name()
        return self._count()

    def _attributes(self) -> None:
        for _ in range(self._list(ATTRIBUTES)):
            self._skip_name()
            size = TYPE_SIZES[self._integer(4)]
            self._skip(size * self._count())
