"""Which places, hours and variables a stream of ERA5 is made of, and what is told where options cannot be."""

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jsonargparse import ArgumentParser

from datamodules.era5 import ERA5
from datamodules.era5.synthetic.britain import LATITUDES, LONGITUDES, land_and_height
from tests.datamodules.era5.streams import SMALL, from_files, made
from tests.datamodules.era5.written import weather


def test_gaps_are_masked_and_missing_hours_are_skipped(tmp_path: Path) -> None:
    data = weather()
    data["t2m"][3, 1, 1] = np.nan
    data["tp"][20:40] = np.nan
    stream = from_files(data.isel(time=np.delete(np.arange(60), [7, 8, 45])), tmp_path / "a.nc", test_share=0.05)
    sizes = [
        len(stream.task_data(task)[0]) + len(next(iter(stream.test_loader(task, 0, 1))).times) for task in range(3)
    ]
    assert sizes == [18, 20, 19]
    assert not stream.task_data(1)[2][..., 2].any()
    times, y, mask = stream.task_data(0)
    if 3.0 in times:
        place = times.tolist().index(3.0)
        assert not mask[5, place, 0]
        assert y[5, place, 0] == 0
        assert mask[5, place, 1]


def test_what_is_for_land_is_masked_over_sea(tmp_path: Path, sample_folder: Path) -> None:
    everywhere = made(points=None)
    _, _, mask = everywhere.task_data(0)
    land, _ = land_and_height()
    assert mask.shape[0] == 120
    assert torch.equal(mask[:, 0, -1], torch.from_numpy(land.reshape(-1)))
    assert mask[..., :-1].all()
    ashore = made(points=None, land_only=True)
    assert ashore.num_series == land.sum()
    assert ashore.task_data(0)[2].all()
    for latitude, longitude in zip(*ashore.coordinates[:2], strict=True):
        assert land[LATITUDES.tolist().index(latitude), LONGITUDES.tolist().index(longitude)]
    with pytest.raises(ValueError, match="land_only needs the land-sea mask"):
        from_files(weather()[["t2m"]], tmp_path / "a.nc", land_only=True)


def test_start_and_places(sample_folder: Path) -> None:
    early = made(locations=[[52.0, 0.0], [56.1, -4.2]], num_tasks=5)
    late = made(locations=[[52.0, 0.0], [56.1, -4.2]], num_tasks=4, start="2020-01-02T06:00")
    assert late.coordinates.origin == np.datetime64("2020-01-02T06:00")
    assert late.coordinates.latitude.tolist() == [52.0, 56.0]
    assert late.coordinates.longitude.tolist() == [0.0, -4.0]
    both = torch.arange(2)
    physical = {}
    for name, stream, first in (("early", early, 0), ("late", late, 30)):
        for task in range(stream.num_tasks):
            times, y, _ = stream.task_data(task)
            values = stream.to_physical(y, both)
            physical[name] = {**physical.get(name, {}), **{float(t) + first: values[:, i] for i, t in enumerate(times)}}
    common = physical["early"].keys() & physical["late"].keys()
    assert len(common) > 60
    for hour in common:
        torch.testing.assert_close(physical["early"][hour], physical["late"][hour], rtol=1e-4, atol=0.05)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("20200102", "2020-01-02T00"),
        ("2020-01-02T06:00Z", "2020-01-02T06"),
        ("2020-01-02T06:00+02:00", "2020-01-02T04"),
        ("2020-01-01T23:00:00-05:00", "2020-01-02T04"),
        ("2020-01-02 06", "2020-01-02T06"),
        ("2020-02", "2020-02-01T00"),
    ],
)
def test_dates_in_any_notation_of_iso_8601(text: str, hour: str) -> None:
    assert ERA5(**SMALL, start=text).start == np.datetime64(hour)


def test_a_stream_that_begins_within_an_hour_is_as_long_as_others(sample_folder: Path) -> None:
    late = made(start="2020-01-01T00:30", num_tasks=2)
    assert late.description.task_sizes == (30, 30)
    assert late.coordinates.origin == np.datetime64("2020-01-01T00:30")


def test_the_log_says_that_the_sample_is_synthetic(sample_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        made()
    assert "SYNTHETIC weather" in caplog.text
    assert "9 series of 17 variables, 120 of 120 hours from 2020-01-01T00:00" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "web"}, "source is 'web'"),
        ({"source": "files"}, "source 'files' needs paths"),
        ({"paths": "a.nc"}, "source is 'sample' and paths is 'a.nc'"),
        ({"test_share": 1.0}, r"test_share is 1.0: it must be between 0 and 1"),
        ({"points": 0}, "points is 0: it must be 1 or more"),
        ({"hours_per_task": 1}, "hours_per_task is 1"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"start": "soon"}, "start is 'soon': give a date"),
        ({"start": "202001"}, "start is '202001', in the year 202001: years from 1678 to 2261"),
        ({"start": ""}, "start is '': give a date"),
        ({"end": "NaT"}, "end is 'NaT': give a date"),
        ({"start": "2019-12-31"}, "the sample begins at 2020-01-01"),
        ({"source": "cds"}, "start is not given"),
        ({"source": "cds", "start": "2020-01-01", "num_tasks": None}, "neither end nor num_tasks is given"),
        ({"end": "soon"}, "end is 'soon': give a date"),
        ({"start": "2020-02-01", "end": "2020-02-01"}, "the end must be after the start"),
        ({"variables": ["t2m", "sst"]}, "no variable 'sst'"),
        ({"points": "many"}, "points is 'many': it must be a number, or 'all'"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str, sample_folder: Path) -> None:
    with pytest.raises(ValueError, match=message):
        made(**options)


def test_too_little_data(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Task 4 of 5, 20 hours from hour 60 of the stream, has 0 hour"):
        from_files(weather(), tmp_path / "a.nc", num_tasks=5)
    with pytest.raises(ValueError, match=r"No hour from 2021-01-01.* they have 60 hours from 2020-01-30"):
        from_files(weather(), tmp_path / "a.nc", start="2021-01-01")
    data = weather()
    data["tp"][:20] = np.nan
    with pytest.raises(ValueError, match="No value of tp is observed in the training hours of the first task"):
        from_files(data, tmp_path / "a.nc")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"num_tasks": 2, "hours_per_task": 12},
            r"The last 36 of 60 hours in the files are not used: they are after the end of the stream, 2 task\(s\) of "
            r"12 hours. To use them, set num_tasks to 5 or hours_per_task to 30.",
        ),
        ({"num_tasks": 2, "joint": True}, "The last 20 of 60 hours in the files are not used"),
        ({"num_tasks": 2, "hours_per_task": 28}, "4 of 60 hours .* not used: .* them, set hours_per_task"),
        ({"num_tasks": 2, "hours_per_task": 29, "start": "2020-01-30T01"}, "1 of 60 hours .* are too few for"),
        ({}, None),
        ({"num_tasks": 2, "start": "2020-01-30T20"}, None),
    ],
)  # fmt: skip
def test_hours_left_out_are_logged(
    options: dict[str, Any], message: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        stream = from_files(weather(), tmp_path / "a.nc", **options)
        stream.setup()
    assert caplog.text.count("not used") == (message is not None)
    if message is not None:
        assert re.search(message, caplog.text)


def test_hours_of_longer_samples_are_not_logged(sample_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    made(num_tasks=5)
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        made(num_tasks=2)
    assert "not used" not in caplog.text


@pytest.mark.parametrize("step", [3, 24])
def test_data_that_are_not_hourly(step: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = weather(60)
    times = data["time"].values[0] + step * np.arange(60) * np.timedelta64(1, "h")
    data = data.assign_coords(time=times).isel(time=np.delete(np.arange(60), [7, 8, 45]))  # with gaps
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        stream = from_files(data, tmp_path / "a.nc", hours_per_task=20 * step)
    found = f"57 times, one every {step} hours, in {60 * step} hours from 2020-01-30T00:00"
    assert found in caplog.text
    assert max(float(stream.task_data(task)[0].max()) for task in range(3)) > 57 * step  # in hours
    message = (
        rf"it needs at least 2. The files have one time every {step} hours, so hours_per_task must be at least "
        rf"{2 * step}; {(2 * step - 1) * step} gives {2 * step - 1} times in each task"
    )
    with pytest.raises(ValueError, match=message):
        from_files(data, tmp_path / "a.nc", hours_per_task=2 * step - 1, num_tasks=9)
    with pytest.raises(ValueError, match=rf"one time every {step} hours"):  # though the stream has only one time
        from_files(data, tmp_path / "a.nc", hours_per_task=2, num_tasks=1)


def test_wrong_questions(sample_folder: Path) -> None:
    stream = ERA5(**SMALL)
    with pytest.raises(RuntimeError, match="call setup"):
        stream.task_data(0)
    stream.setup()
    with pytest.raises(ValueError, match="no task 4: tasks are numbered from 0 to 3"):
        stream.task_data(4)
    with pytest.raises(ValueError, match="9 series cannot be shared by 10 processes"):
        stream.test_loader(0, 0, 10)


def test_the_command_line_takes_all_of_it() -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(ERA5, "data")
    options = ["--data.paths=[a.nc, b.nc]", "--data.locations=[[52, 0]]", "--data.area=[60, -5, 50, 2]"]
    options += ["--data.source=files", "--data.points=null", "--data.variables=[t2m]", "--data.num_tasks=10"]
    parsed = parser.parse_args(options)
    assert parsed.data.paths == ["a.nc", "b.nc"]
    assert parsed.data.area == (60.0, -5.0, 50.0, 2.0)
    stream = ERA5(**parsed.data.as_dict())
    assert stream.hparams["hours_per_task"] == 186
    assert stream.num_epochs == 200


@pytest.mark.parametrize("word", ["all", "none", "null"])
def test_words_for_all_cells(word: str, tmp_path: Path) -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(ERA5, "data")
    stream = ERA5(**parser.parse_args([f"--data.points={word}"]).data.as_dict())
    assert stream.points is None
    assert stream.hparams["points"] is None  # so a run is resumed with any of them
    assert from_files(weather(), tmp_path / "a.nc", points=stream.points if word == "null" else word).num_series == 12


def test_small_grids_are_taken_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        stream = from_files(weather(), tmp_path / "a.nc", points=32)
    assert stream.num_series == 12
    assert "points is 32, and there are 12 grid cells" in caplog.text


@pytest.mark.parametrize(
    ("place", "names", "options"),
    [
        ("finse_2018", "t2m d2m sp tp ssrd strd tisr zust ie ishf", {"num_tasks": 10, "hours_per_task": 186}),
        ("cornwall_2018_05", "t2m d2m u10 v10 sp tp tcc ssrd fdir avg_snlwrf avg_sdlwrf", {"hours_per_task": 186}),
    ],
)
def test_real_files(place: str, names: str, options: dict[str, Any], real_era5: Callable[[str], str]) -> None:
    stream = made(source="files", paths=real_era5(place), points=16, **options)
    assert [variable.short_name for variable in stream.variables] == names.split()
    assert not stream.synthetic
    for task in range(stream.num_tasks):
        times, y, mask = stream.task_data(task)
        assert len(times) == 149
        assert mask.all()
        assert y.abs().max() < 40
        back = stream.to_physical(y, torch.arange(16))
        assert (back[..., 0] > 230).all()
        assert (back[..., 0] < 310).all()
        assert (back[..., 0] >= back[..., 1] - 0.2).all()  # dew point, as packed
