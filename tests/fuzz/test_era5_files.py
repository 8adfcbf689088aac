"""However an ERA5 file is damaged, it is refused in words, or read as values that hold together."""

from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr
from hypothesis import given

from tests.era5.written import weather, write_new, write_old, write_step_types, write_zip
from tests.fuzz.damage import damaged
from tests.fuzz.era5_files import HOURS, read_file
from tests.fuzz.outcomes import Tally, tried
from tests.fuzz.worker import Worker


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
def test_damaged_files(layout: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    path = LAYOUTS[layout](weather(HOURS), tmp_path / "a.nc")
    tally, read = Tally(f"ERA5 files, {layout}"), Worker(read_file)
    whole = read(str(path))
    assert whole.kind == "taken", whole.detail

    @tried(120)
    @given(damaged(path.read_bytes()))
    def try_one(content: bytes) -> None:
        path.write_bytes(content)
        tally.add(read(str(path)))

    try_one()
    read.close()
    record_property("fuzz", tally.row)
    assert not tally.faults, tally.report
