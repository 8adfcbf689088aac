"""Small streams of ERA5, from the sample or from files."""

from pathlib import Path
from typing import Any

import xarray as xr

from datamodules.era5 import ERA5
from tests.datamodules.era5.written import write_new

SMALL: dict[str, Any] = {"num_tasks": 4, "hours_per_task": 30, "points": 9, "seed": 3}


def made(**options: Any) -> ERA5:
    stream = ERA5(**{**SMALL, **options})
    stream.prepare_data()
    stream.setup()
    return stream


def from_files(data: xr.Dataset, path: Path, **options: Any) -> ERA5:
    write_new(data, path)
    few = {"num_tasks": 3, "hours_per_task": 20, "points": None}
    return made(source="files", paths=str(path), **{**few, **options})
