"""Files of any format as datasets of xarray: the first bytes decide, and the name for tables."""

from contextlib import ExitStack
from pathlib import Path

import xarray as xr

from datamodules.era5.files.damage import explained
from datamodules.era5.files.grib import open_grib
from datamodules.era5.files.netcdf import CLASSIC, HDF, check_complete, open_lazily
from datamodules.era5.files.tables import is_table, open_table
from datamodules.era5.files.zarr_store import is_url, open_store

GRIB = b"GRIB"
OTHERS = {
    b"<": "It looks like a web page, perhaps an error message saved under this name: open it in an editor.",
    b"{": "It looks like JSON, perhaps an error message saved under this name: open it in an editor.",
    b"PK": "It is an empty or broken zip archive.",
    b"\x1f\x8b": "It is compressed by gzip: unpack it first.",
}


def is_readable(start: bytes, name: str) -> bool:
    """Whether a file is of a format that is read here.

    Args:
        start: Its first bytes.
        name: Its name.
    """
    return start.startswith((HDF, CLASSIC, GRIB)) or is_table(name)


def open_file(path: Path | str, name: str, stack: ExitStack) -> list[xr.Dataset]:
    """Open a file of any format: netCDF, GRIB, Zarr or a table in CSV.

    Args:
        path: The file, a folder or a URL.
        name: Its name in messages.
        stack: Closes the file.

    Raises:
        ValueError: It is of another format, or damaged, or a package is missing that reads it.
    """
    if is_url(path) or Path(path).is_dir():
        return [open_store(path, name, stack)]
    path = Path(path)
    start = first_bytes(path)
    if start.startswith(HDF) or (start.startswith(CLASSIC) and len(start) > len(CLASSIC)):
        check_complete(path, name)
        return [open_lazily(path, name, stack)]
    if start.startswith(GRIB):
        return open_grib(path, name, stack)
    if start and is_table(path.name):
        with explained(name):
            return [open_table(path, name)]
    reasons = (reason for magic, reason in OTHERS.items() if start.startswith(magic))
    reason = next(reasons, f"It begins with {start!r}." if start else "It is empty.")
    raise ValueError(f"{name} is not a netCDF file, nor one of GRIB, Zarr or CSV. {reason}")


def first_bytes(path: Path) -> bytes:
    """The first bytes of a file, which tell its format.

    Args:
        path: The file.
    """
    with path.open("rb") as file:
        return file.read(8)
