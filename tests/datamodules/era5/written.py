"""The same small piece of weather, written in every layout that ERA5 comes in."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

STEP_TYPES = {"instant": ["t2m", "sp", "lsm"], "accum": ["tp"]}
UNITS = {"t2m": "K", "sp": "Pa", "lsm": "(0 - 1)", "tp": "m"}
CELL = ("latitude", "longitude")


def weather(num_hours: int = 60, start: str = "2020-01-30T00") -> xr.Dataset:
    """Some variables over time, in single precision, across the end of a month."""
    random = np.random.default_rng(0)
    shape = (num_hours, 3, 4)
    fields = {
        "t2m": 280 + 5 * random.standard_normal(shape),
        "sp": 99_000 + 500 * random.standard_normal(shape),
        "tp": np.maximum(random.standard_normal(shape), 0) / 1000,
        "lsm": np.broadcast_to([[1, 1, 0, 0], [1, 0.7, 0.2, 0], [1, 1, 1, 0]], shape),
    }
    times = np.datetime64(start, "ns") + np.arange(num_hours) * np.timedelta64(1, "h")
    return xr.Dataset(
        {name: (("time", *CELL), field.astype(np.float32), {"units": UNITS[name]}) for name, field in fields.items()},
        {"time": times, "latitude": [52.0, 51.75, 51.5], "longitude": [-1.0, -0.75, -0.5, -0.25]},
    )


def write_new(data: xr.Dataset, path: Path, expver: str | np.ndarray = "0001") -> Path:
    """As the new Climate Data Store does: valid_time, number, expver, single precision."""
    versions = ((), expver) if isinstance(expver, str) else ("valid_time", expver)
    data = data.rename(time="valid_time").assign_coords(number=0, expver=versions)
    seconds = {"units": "seconds since 1970-01-01", "dtype": "int64"}
    data.to_netcdf(path, engine="netcdf4", encoding={"valid_time": seconds})
    return path


def write_old(data: xr.Dataset, path: Path, packed: bool = True) -> Path:
    """As the old one did: hours since 1900, coordinates in single precision, values packed into 16 bits."""
    data = data.assign_coords({name: data[name].astype(np.float32) for name in CELL})
    encoding: dict[str, dict[str, object]] = {"time": {"units": "hours since 1900-01-01 00:00:00.0", "dtype": "int32"}}
    for name in data.data_vars if packed else ():
        low, high = float(data[name].min()), float(data[name].max())
        scale = (high - low) / 65_000
        packing = {
            "dtype": "int16",
            "_FillValue": np.int16(-32767),
            "scale_factor": scale,
            "add_offset": (low + high) / 2,
        }
        encoding[str(name)] = packing
    data.to_netcdf(path, engine="netcdf4", format="NETCDF3_64BIT", encoding=encoding)
    return path


def write_step_types(data: xr.Dataset, folder: Path) -> list[Path]:
    """A file for each step type."""
    return [
        write_new(data[names], folder / f"data_stream-oper_stepType-{step_type}.nc")
        for step_type, names in STEP_TYPES.items()
    ]


def write_zip(files: Iterable[Path], path: Path, names: Iterable[str] | None = None) -> Path:
    """An archive of files, which are gone then."""
    files = list(files)
    with zipfile.ZipFile(path, "w") as archive:
        for file, name in zip(files, names or [file.name for file in files], strict=True):
            archive.write(file, name)
            file.unlink()
    return path
