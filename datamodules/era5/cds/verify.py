"""Checks that a downloaded file has what was requested."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from datamodules.era5.cds.errors import JobFailed
from datamodules.era5.cds.monthly_requests import Request, hours_of, max_bytes
from datamodules.era5.files.archive import MAX_VALUES
from datamodules.era5.files.containers import temporary_folder, unpack
from datamodules.era5.files.file_part import FilePart, all_times, load, span
from datamodules.era5.files.formats import open_file
from datamodules.era5.files.layouts import file_parts
from datamodules.era5.variables import LONG_NAMES


def verify_file(path: Path, request: Request) -> int:
    """Read a file to its end, and check that it has every variable at every hour.

    Args:
        path: The file.
        request: The request.

    Returns:
        The number of preliminary hours.

    Raises:
        JobFailed: It cannot be read, or something is missing.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        try:
            files = unpack(path, folder, max_bytes(request))
            opened = [(data, name) for name, file in files for data in open_file(file, name, stack)]
            parts = [part for data, name in opened for part in file_parts(data, name)]
            for part in parts:
                _read_through(part)
        except OSError:  # no space to unpack it
            raise
        except Exception as error:  # anything that xarray or netCDF4 raise for a damaged file
            reason = str(error).replace(str(path), "the file")
            raise JobFailed(f"The downloaded file cannot be used: {reason}") from None
        _check_complete(parts, request)
        preliminary = [part.times[part.preliminary] for part in parts]
        return len(np.unique(np.concatenate(preliminary)))


def _read_through(part: FilePart) -> None:
    for field in part.data.data_vars.values():
        if "time" not in field.dims:
            load(part, field)
            continue
        at_once = max(1, MAX_VALUES * field.sizes["time"] // max(1, field.size))
        for first in range(0, field.sizes["time"], at_once):
            load(part, field.isel(time=slice(first, first + at_once)))


def _check_complete(parts: list[FilePart], request: Request) -> None:
    there = {str(name) for part in parts for name in part.data.data_vars}
    known = {name: LONG_NAMES[name] for name in request["variable"] if name in LONG_NAMES}
    missing = [name for name, short_name in known.items() if short_name not in there]
    if missing or len(there) < len(request["variable"]):
        requested, found = ", ".join(missing or request["variable"]), ", ".join(sorted(there))
        raise JobFailed(f"The downloaded file lacks variables: requested {requested}, found only {found}.", again=False)
    for name in sorted(there):
        holding = [part for part in parts if name in part.data]
        absent = np.setdiff1d(hours_of(request), all_times(holding))
        if len(absent) and any("time" in part.data[name].dims for part in holding):
            raise JobFailed(
                f"The downloaded file has no {name} for {span(absent)}: ERA5 ends about five days ago, and its last "
                "day is incomplete. Choose an earlier `start`, or fewer hours.",
                again=False,
            )
