"""A damaged ERA5 file is refused by an error message, or read as consistent, possible values."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr
from hypothesis import strategies as st

from tests.datamodules.era5.formats import write_csv, write_grib, write_zarr
from tests.datamodules.era5.written import weather, write_new, write_old, write_step_types, write_zip
from tests.fuzz.damage import damaged
from tests.fuzz.era5_files import HOURS, read_file, read_store
from tests.fuzz.faults import faulty
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


def test_damaged_grib(tmp_path: Path, record_property: Record) -> None:
    path = Path(write_grib(weather(HOURS).drop_vars("lsm"), tmp_path / "a.grib"))
    try_inputs("ERA5 files, GRIB", read_file, damaged(path.read_bytes()), 30, lambda: path, record_property, whole=path)


def test_damaged_tables(tmp_path: Path, record_property: Record) -> None:
    path = Path(write_csv(weather(HOURS), tmp_path / "a.csv"))
    try_inputs("ERA5 files, CSV", read_file, damaged(path.read_bytes()), 60, lambda: path, record_property, whole=path)


@pytest.mark.parametrize("version", [2, 3])
def test_damaged_stores(version: int, tmp_path: Path, record_property: Record) -> None:
    folder = Path(write_zarr(weather(HOURS), tmp_path / "whole", version))
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    path = tmp_path / "a.zip"
    path.write_bytes(packed(files))
    inputs = st.sampled_from(sorted(files)).flatmap(
        lambda name: damaged(files[name]).map(lambda content: packed({**files, name: content}))
    )
    try_inputs(f"ERA5 files, Zarr {version}", read_store, inputs, 40, lambda: path, record_property, whole=path)


def packed(files: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as target:
        for name, content in files.items():
            target.writestr(name, content)
    return archive.getvalue()


def test_faulty_files(tmp_path: Path, record_property: Record) -> None:
    """Values, units, coordinates and sizes that cannot be."""
    path = write_new(weather(HOURS), tmp_path / "a.nc")
    try_inputs(
        "ERA5 files, faulty", read_file, faulty(path.read_bytes()), 80, lambda: path, record_property, whole=path
    )
