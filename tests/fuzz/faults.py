"""Files that are sound as files, and whose values, units, coordinates or sizes cannot be."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
from hypothesis import strategies as st

from datamodules.era5.limits import FILLS

NUMBERS = [*FILLS.tolist(), 0.0, -0.0, 1.0, -1.0, 400.0, 1e-40, 1e10, -1e15, 3e25, 3e38, np.nan, np.inf, -np.inf]
NAMES = ["t2m", "sp", "tp"]
AXES = ["valid_time", "latitude", "longitude"]
Fault = Callable[[netCDF4.Dataset], None]

numbers, names, axes = st.sampled_from(NUMBERS), st.sampled_from(NAMES), st.sampled_from(AXES)
shares = st.sampled_from([0.002, 0.008, 0.02, 0.5, 1.0])


def _values(name: str, number: float, share: float, seed: int) -> Fault:
    def apply(data: netCDF4.Dataset) -> None:
        values = np.ma.filled(data[name][:], np.nan)
        values[np.random.default_rng(seed).random(values.shape) < share] = number
        data[name][:] = values

    return apply


def _attribute(name: str, key: str, value: Any) -> Fault:  # noqa: ANN401
    return lambda data: data[name].setncattr(key, value)


def _axis(name: str, number: float, count: int, seed: int) -> Fault:
    def apply(data: netCDF4.Dataset) -> None:
        values = np.ma.filled(data[name][:], 0).astype(np.float64)
        places = np.random.default_rng(seed).integers(0, len(values), count)
        values[places] = values[0] if np.isnan(number) else number
        if data[name].dtype.kind == "i":
            values = np.nan_to_num(values).clip(-(2**62), 2**62)
        data[name][:] = values

    return apply


def _sparse(size: int, dims: list[str], role: str) -> Fault:
    def apply(data: netCDF4.Dataset) -> None:
        data.createDimension(f"long_{role}", size)
        data.createVariable(role, "f4", (*dims, f"long_{role}"), zlib=True)

    return apply


def _many(count: int) -> Fault:
    def apply(data: netCDF4.Dataset) -> None:
        for number in range(count):
            data.createVariable(f"v{number}", "f4", ())

    return apply


seeds = st.integers(0, 99)
units = st.sampled_from(["K", "degC", "hPa", "Pa", "m", "mm", "W m-2", "", " ", "bananas", "1", "%", "K K K", "[/]"])
packing = st.sampled_from([0.0, -1.0, 1e-300, 1e300, np.nan, np.inf, 1.0])
roles = st.sampled_from(["t", "level", "expver", "number", "lsm", "lat", "lon", "time", "latitude2", "x"])
faults = st.one_of(
    st.builds(_values, names, numbers, shares, seeds),
    st.builds(_values, names, numbers, shares, seeds),
    st.builds(_attribute, names, st.just("units"), units),
    st.builds(
        _attribute, names, st.sampled_from(["scale_factor", "add_offset", "missing_value", "valid_max"]), packing
    ),
    st.builds(_attribute, axes, st.sampled_from(["units", "calendar", "standard_name"]), units),
    st.builds(_axis, axes, numbers, st.integers(1, 3), seeds),
    st.builds(_sparse, st.sampled_from([3, 2_000, 10**6, 2 * 10**9]), st.lists(axes, unique=True, max_size=2), roles),
    st.builds(_many, st.sampled_from([1, 50, 1_200])),
)


def faulty(content: bytes) -> st.SearchStrategy[bytes]:
    """Draw a netCDF file with one to three faults.

    Args:
        content: The sound file.
    """

    def made(drawn: list[Fault]) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.nc"
            path.write_bytes(content)
            with netCDF4.Dataset(path, "a") as data:
                data.set_auto_maskandscale(False)
                for fault in drawn:
                    try:
                        fault(data)
                    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, OverflowError):
                        continue  # the library refuses to write it
            return path.read_bytes()

    return st.lists(faults, min_size=1, max_size=3).map(made)
