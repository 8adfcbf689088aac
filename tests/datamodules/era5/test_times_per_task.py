"""Tasks by the number of their times, for files whose times are irregular."""

from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from datamodules.era5 import ERA5
from tests.datamodules.era5.streams import made
from tests.datamodules.era5.test_dataset import assert_same_stream
from tests.datamodules.era5.written import weather

FEW = {"source": "files", "points": 5, "variables": ["t2m"]}


def irregular() -> xr.Dataset:
    """Visits of a satellite, say: minutes to days apart."""
    minutes = np.random.default_rng(0).exponential(700, 60).astype(int).clip(1).cumsum()
    data = weather()
    return data.assign_coords(time=data["time"].values[0] + (minutes - minutes[0]) * np.timedelta64(1, "m"))


def times_of(stream: ERA5, task: int) -> torch.Tensor:
    (held_out,) = stream.test_loader(task, 0, 1)
    return torch.cat([stream.task_data(task).times, held_out.times]).sort().values


def test_every_task_has_the_same_number_of_times() -> None:
    data = irregular()
    stream = made(**FEW, paths=data, times_per_task=13, num_tasks=None)
    assert stream.num_tasks == 4
    hours = (data["time"].values - data["time"].values[0]) / np.timedelta64(1, "h")
    for task in range(4):
        np.testing.assert_array_equal(times_of(stream, task), hours[13 * task : 13 * (task + 1)])
        assert stream.begin_of(task) == hours[13 * task]
    assert stream.begin_of(4) == hours[52]


def test_hourly_times_make_the_tasks_of_as_many_hours() -> None:
    by_count = made(**FEW, paths=weather(), times_per_task=20, num_tasks=3)
    by_hours = made(**FEW, paths=weather(), hours_per_task=20, num_tasks=3)
    by_count.hparams["times_per_task"], by_count.hparams["hours_per_task"] = None, 20
    assert_same_stream(by_count, by_hours)
    assert [by_count.begin_of(task) for task in range(4)] == [by_hours.begin_of(task) for task in range(4)]
    assert by_count.num_hours == by_hours.num_hours == 60


def test_more_times_make_more_tasks_and_the_first_stay(tmp_path: Path) -> None:
    data = irregular()
    short = made(**FEW, paths=data.isel(time=slice(0, 30)), times_per_task=13, num_tasks=None)
    long = made(**FEW, paths=data, times_per_task=13, num_tasks=None)
    assert (short.num_tasks, long.num_tasks) == (2, 4)
    for task in range(2):
        assert all(torch.equal(a, b) for a, b in zip(short.task_data(task), long.task_data(task), strict=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "sample"}, "times_per_task is 10 and source is 'sample', which is hourly: give hours_per_task"),
        ({"num_tasks": 7}, "Task 7 of 7 has 0 of 10 times: lower num_tasks or times_per_task"),
        ({"times_per_task": 1}, "times_per_task is 1: it must be 2 or more"),
        ({"times_per_task": 61, "num_tasks": None}, "The data have 60 times, less than one task of 61"),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str) -> None:
    paths = None if "source" in options else irregular()
    with pytest.raises(ValueError, match=message):
        made(**{**FEW, "paths": paths, "times_per_task": 10, **options})
