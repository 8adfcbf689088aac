"""netCDF files: checked for completeness, and opened without reading values."""

from contextlib import ExitStack
from pathlib import Path

import netCDF4
import xarray as xr

from datamodules.era5.files.classic_netcdf import expected_size
from datamodules.era5.files.damage import explained
from datamodules.era5.files.sizes import StoredArray, check_arrays
from gpvae.utils.netcdf_lock import LOCK

HDF, CLASSIC = b"\x89HDF", b"CDF"


def check_complete(path: Path, name: str) -> None:
    """Raise if a netCDF file of the classic format is shorter than its header says; others check themselves.

    Args:
        path: The file.
        name: Its name in messages.

    Raises:
        ValueError: It is truncated, or its header is damaged.
    """
    with path.open("rb") as file:
        if not file.read(4).startswith(CLASSIC):
            return
    size = path.stat().st_size
    try:
        expected = expected_size(path)
    except ValueError as error:
        raise ValueError(f"{name} cannot be read: {error}. Download it again.") from error
    if size < expected:
        raise ValueError(
            f"{name} is truncated: it has {size:,} bytes of {expected:,}. Download it again: the values at its end are "
            "lost."
        )


def open_lazily(path: Path, name: str, stack: ExitStack) -> xr.Dataset:
    """Open a netCDF file and read its coordinates, but no values.

    Args:
        path: The file.
        name: Its name in messages.
        stack: Closes the file.

    Raises:
        ValueError: It cannot be opened, or takes more memory than there is.
    """
    with explained(name), LOCK:
        check_arrays(_arrays(path), name)
        data = xr.open_dataset(path, engine="netcdf4", cache=False, decode_timedelta=False, lock=LOCK)
        stack.callback(_close, data)
        for variable in data.variables.values():
            if variable.ndim <= 1:
                variable.load()
    return data


def _close(data: xr.Dataset) -> None:
    with LOCK:  # older versions of xarray do not take a given lock to close files
        data.close()


def _arrays(path: Path) -> list[StoredArray]:
    """The shapes and chunks of all variables, without reading any."""
    with netCDF4.Dataset(path) as data:
        chunks = [variable.chunking() for variable in data.variables.values()]
        return [
            StoredArray(variable.shape, tuple(chunk) if isinstance(chunk, list) else None)
            for variable, chunk in zip(data.variables.values(), chunks, strict=True)
        ]
