"""Memory that a file takes, estimated from its metadata: small files may need more memory than there is."""

import gzip
import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gpvae.utils.memory import check_fits

MAX_VARIABLES = 1000  # of a file, and levels of a variable
BYTES_PER_ENTRY = 48  # of a coordinate: as stored, as decoded, in an index
BYTES_PER_CELL = 96  # of a grid: coordinates of each cell, and copies that are sorted and compared
BYTES_PER_VALUE = 8  # of a chunk: as stored, and as decoded
BYTES_PER_CHARACTER = 20  # of a table, measured: 12 to 21
REMEDY = "Keep the variables that are needed"


class StoredArray(NamedTuple):
    """A variable of a file, by its metadata.

    Args:
        shape: Its shape.
        chunk: The shape of the pieces that are read at once; None if they may have any size.
    """

    shape: tuple[int, ...]
    chunk: tuple[int, ...] | None = None


def check_arrays(arrays: Iterable[StoredArray], name: str) -> None:
    """Raise if a file has too many variables, or coordinates or chunks that do not fit in memory.

    Args:
        arrays: All variables of the file.
        name: Its name in messages.
    """
    arrays = list(arrays)
    check_number(len(arrays), "variables", name)
    entries = sum(math.prod(array.shape) for array in arrays if len(array.shape) <= 1)
    check_fits(BYTES_PER_ENTRY * entries, f"The coordinates of {name}, of {entries:,} entries,", "it may be damaged")
    largest = max((math.prod(array.chunk) for array in arrays if array.chunk is not None), default=0)
    check_fits(BYTES_PER_VALUE * largest, f"The chunks of {name}, of {largest:,} values,", "write it in smaller chunks")


def check_number(count: int, kind: str, name: str) -> None:
    """Raise if there are too many variables or levels, each of which takes time to read.

    Args:
        count: Their number.
        kind: What they are.
        name: The name of the file in messages.
    """
    if count > MAX_VARIABLES:
        raise ValueError(f"{name} has {count:,} {kind}, more than the {MAX_VARIABLES:,} that are read. {REMEDY}.")


def check_cells(count: int, name: str) -> None:
    """Raise if the cells of a grid do not fit in memory.

    Args:
        count: Their number.
        name: The name of the file in messages.
    """
    check_fits(BYTES_PER_CELL * count, f"The {count:,} grid cells of {name}", "cut out the region that is needed")


def check_table(path: Path, name: str, *, compressed: bool) -> None:
    """Raise if a table does not fit in memory.

    Args:
        path: The file.
        name: Its name in messages.
        compressed: Whether it is compressed by gzip. Its size is then found by unpacking it as far as it fits.
    """
    size = path.stat().st_size
    remedy = "write it as netCDF, or cut it"
    if not compressed:
        check_fits(BYTES_PER_CHARACTER * size, f"The rows of {name}", remedy)
        return
    unpacked = 0
    with gzip.open(path) as file:
        while piece := file.read(2**24):
            unpacked += len(piece)
            check_fits(BYTES_PER_CHARACTER * unpacked, f"The rows of {name} ({size / 1e6:.3g} MB compressed)", remedy)


def check_selection(num_locations: int, num_times: int, num_variables: int, bytes_each: float, remedy: str) -> None:
    """Raise if the selected values do not fit in memory.

    Args:
        num_locations: The number of locations.
        num_times: The number of times that are in memory together.
        num_variables: The number of variables.
        bytes_each: Bytes that each value takes, with its copies.
        remedy: What to do.
    """
    plural = "s" if num_variables > 1 else ""
    what = f"The values of {num_variables} variable{plural} at {num_locations:,} locations and {num_times:,} times"
    check_fits(bytes_each * num_locations * num_times * num_variables, what, remedy)
