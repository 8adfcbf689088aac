"""A damaged ERA5 file is refused by an error message, or read as consistent values."""

from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

from tests.datamodules.era5.written import weather, write_new, write_old, write_step_types, write_zip
from tests.fuzz.damage import damaged
from tests.fuzz.era5_files import HOURS, read_file
from tests.fuzz.trials import Record, try_inputs


def write_compressed(data: xr.Dataset, path: Path) -> Path:
    data = data.rename(time="valid_time")
    data.to_netcdf(path, engine="netcdf4", encoding={name: {"zlib": True} for name in data.data_vars})
    return path


def write_archive(data: xr.Dataset, path: Path) -> Path:
    return write_zip(write_step_types(data, path.parent), path)


LAYOUTS: dict[str, Callable[[xr.Dataset, Path], Path]] = {
    "old": write_old,
    "new": write_new,
    "compressed": write_compressed,
    "zip": write_archive,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_damaged_files(layout: str, tmp_path: Path, record_property: Record) -> None:
    path = LAYOUTS[layout](weather(HOURS), tmp_path / "a.nc")
    name, inputs = f"ERA5 files, {layout}", damaged(path.read_bytes())
    try_inputs(name, read_file, inputs, 120, lambda: path, record_property, whole=path)
