"""Reads an ERA5 file, splits it into tasks and scales it, as a run does."""

import shutil
import traceback
import zipfile
from pathlib import Path

import torch

from datamodules import ERA5
from datamodules.era5.limits import limits_of
from gpvae.cli.errors import is_user_error
from tests.fuzz.outcomes import Outcome

HOURS, TASKS = 24, 2


def read_file(path: str) -> Outcome:
    stream = ERA5("files", [path], points=None, num_tasks=TASKS, hours_per_task=HOURS // TASKS)
    try:
        stream.setup()
    except Exception as error:
        if is_user_error(error):
            return Outcome("refused", str(error))
        return Outcome("crash", traceback.format_exc(limit=-8))
    coordinates = torch.tensor([*stream.coordinates.latitude, *stream.coordinates.longitude])
    if not coordinates.isfinite().all():
        return Outcome("silent NaN", "coordinates")
    for task in range(TASKS):
        times, y, mask = stream.task_data(task)
        if not times.isfinite().all() or not y.isfinite().all():
            return Outcome("silent NaN", f"{int((~y.isfinite()).sum())} of {y.numel()} values, of times {times}")
        if y.shape != mask.shape or y.shape != (stream.num_series, len(times), stream.num_variables):
            return Outcome("silent NaN", f"absurd shapes {y.shape}, {mask.shape}, {times.shape}")
        physical = stream.to_physical(y.double(), torch.arange(stream.num_series))
        for number, variable in enumerate(stream.variables):
            low, high = limits_of(variable) or (-torch.inf, torch.inf)
            some, room = physical[..., number][mask[..., number]], 1e-3 * (high - low)
            if bool(((some < low - room) | (some > high + room)).any()):
                return Outcome("silent NaN", f"{variable} has impossible values")
    return Outcome("taken")


def read_store(path: str) -> Outcome:
    """As `read_file`, of a Zarr store within a zip archive."""
    folder = Path(path).with_suffix(".zarr")
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return read_file(str(folder))
