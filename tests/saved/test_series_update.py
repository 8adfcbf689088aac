"""`run.update` learns what `gpvae fit --ckpt_path last` learns from the same hours, and `run.save` saves it."""

import gc
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
import yaml

import gpvae
from tests.cli.program import assert_same, weights, write_config
from tests.cli.test_new_data import DATA, MODEL
from tests.datamodules.era5.written import weather, write_old

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's, about small data
RUN = Path("runs") / "weather" / "seed_3"
FIT = ("fit", "-c", "weather.yaml", "--ckpt_path", "last")
Command = Callable[..., None]


def in_single_precision(data: xr.Dataset) -> xr.Dataset:
    return data.assign_coords({name: data[name].astype(np.float32) for name in ("latitude", "longitude")})


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_an_update_gives_the_bits_of_the_command(
    series: Path, tmp_path: Path, all_weather: xr.Dataset, command: Command
) -> None:
    by_command = Path(shutil.copytree(series, tmp_path / "by_command"))
    write_old(all_weather.isel(time=slice(45, 70)), by_command / "1.nc", packed=False)
    command(by_command, *FIT)
    before = files(series / RUN)
    run = gpvae.load(series / RUN)
    new = in_single_precision(all_weather.isel(time=slice(45, 70)))
    assert run.update(new) is run
    assert files(series / RUN) == before
    assert run.num_tasks == 3
    assert run.num_waiting == 10
    run.save()
    one, other = (weights(folder / RUN / "checkpoints" / "last.ckpt") for folder in (by_command, series))
    assert_same(one, other)
    for name in ("task_metrics.csv",):
        assert (series / RUN / name).read_bytes() == (by_command / RUN / name).read_bytes()
    assert (series / RUN / "checkpoints" / "task_03.ckpt").is_file()
    assert len(list((series / RUN).glob("events.out.tfevents.*"))) == 2
    assert (series / RUN / "config.yaml").read_bytes() == before[str(series / RUN / "config.yaml")]
    assert len(pd.read_csv(series / RUN / "task_times.csv")) == 3


def test_pieces_smaller_than_a_task_wait_and_survive_a_save(
    series: Path, tmp_path: Path, all_weather: xr.Dataset, command: Command
) -> None:
    """The data of the run are gone: all that it needs is in its folder."""
    whole = Path(shutil.copytree(series, tmp_path / "whole"))
    shutil.rmtree(whole / "runs")
    write_old(all_weather.isel(time=slice(0, 66)), whole / "0.nc", packed=False)
    command(whole, "fit", "-c", "weather.yaml")
    (series / "0.nc").unlink()
    counts = []
    for begin, end in ((35, 48), (48, 56), (56, 66)):  # the first overlaps with hours that were learnt
        run = gpvae.load(series / RUN)
        run.update(in_single_precision(all_weather.isel(time=slice(begin, end))))
        run.save()
        counts.append((run.num_tasks, run.num_waiting))
    assert counts == [(2, 8), (2, 16), (3, 6)]
    assert_same(*(weights(folder / RUN / "checkpoints" / "last.ckpt") for folder in (whole, series)))
    run = gpvae.load(series / RUN)
    assert (run.num_tasks, run.num_waiting) == (3, 6)
    last = run.scores.query("after_task == 3")
    assert set(last["task"]) == {3}  # earlier tasks cannot be scored without their data
    expected = gpvae.load(whole / RUN).scores.query(
        "after_task == 3 and task == 3 and not metric.str.startswith('skill')"
    )
    pd.testing.assert_frame_equal(last.reset_index(drop=True), expected.reset_index(drop=True))
    assert set(run.scores["after_task"]) == {1, 2, 3}
    run.update(in_single_precision(all_weather.isel(time=slice(60, 70))))
    assert run.num_waiting == 10


def test_data_that_are_gone_are_still_known_by_their_digests(
    series: Path, all_weather: xr.Dataset, command: Command
) -> None:
    """After an update without the data of earlier tasks, changes of these are noticed when they are back."""
    learnt = (series / "0.nc").rename(series / "learnt")
    gpvae.load(series / RUN).update(in_single_precision(all_weather.isel(time=slice(40, 60)))).save()
    new = all_weather.isel(time=slice(40, 60))
    write_old(new, series / "1.nc", packed=False)
    changed = all_weather.isel(time=slice(0, 40)).copy(deep=True)
    changed["t2m"][25, 1, 2] += 0.5
    write_old(changed, series / "0.nc", packed=False)
    with pytest.raises(SystemExit, match=r"values of task 2 differ.*t2m at 2020-01-31T01:00"):
        command(series, *FIT)
    learnt.rename(series / "0.nc")
    command(series, *FIT)


def test_changed_data_are_refused_unless_accepted(series: Path, all_weather: xr.Dataset) -> None:
    """As by the command, with `--accept changed`; the history of two updates is saved with the second."""
    changed, run = all_weather.isel(time=slice(0, 45)).copy(deep=True), gpvae.load(series / RUN)
    changed["t2m"][25, 1, 2] += 0.5
    write_old(changed, series / "0.nc", packed=False)
    new = in_single_precision(all_weather.isel(time=slice(45, 85)))
    with pytest.raises(ValueError, match=r"values of task 2 differ.*t2m at 2020-01-31T01:00.*accept='changed'"):
        run.update(new.isel(time=slice(0, 20)))
    with pytest.raises(ValueError, match="accept"):
        run.update(new.isel(time=slice(0, 20)), accept="all")
    assert run.num_tasks == 2
    run.update(new.isel(time=slice(0, 20)), accept="changed").update(new.isel(time=slice(20, 40))).save()
    assert run.num_tasks == 4
    (entry,) = yaml.safe_load((series / RUN / "config_history.yaml").read_text())
    assert entry["after_task"] == 2
    assert "t2m at 2020-01-31T01:00" in entry["changed"]["data, values of task 2"]["to"]


def test_the_command_goes_on_from_a_saved_update_and_the_other_way_round(
    series: Path, tmp_path: Path, all_weather: xr.Dataset, command: Command
) -> None:
    whole = Path(shutil.copytree(series, tmp_path / "whole"))
    shutil.rmtree(whole / "runs")
    write_old(all_weather, whole / "0.nc", packed=False)
    command(whole, "fit", "-c", "weather.yaml")
    run = gpvae.load(series / RUN)
    run.update(in_single_precision(all_weather.isel(time=slice(45, 65)))).save()
    write_old(all_weather.isel(time=slice(0, 85)), series / "0.nc", packed=False)
    command(series, *FIT)
    run = gpvae.load(series / RUN)
    assert (run.num_tasks, run.num_waiting) == (4, 0)  # the command has learnt the hours that waited
    run.update(in_single_precision(all_weather.isel(time=slice(80, 110)))).save()
    assert_same(*(weights(folder / RUN / "checkpoints" / "last.ckpt") for folder in (whole, series)))
    scores = [(folder / RUN / "task_metrics.csv").read_bytes() for folder in (whole, series)]
    assert scores[0] == scores[1]


def test_files_and_datasets_in_other_units_are_the_same(series: Path, tmp_path: Path, all_weather: xr.Dataset) -> None:
    new = in_single_precision(all_weather.isel(time=slice(40, 60)))
    path = write_old(all_weather.isel(time=slice(40, 60)), tmp_path / "new.nc", packed=False)
    by_file, by_name, converted = (gpvae.load(series / RUN) for _ in range(3))
    by_file.update(path)
    by_name.update([str(tmp_path / "n*.nc")])
    celsius = new.assign(t2m=(new["t2m"].astype(float) - 273.15).assign_attrs(units="degC"))
    converted.update(celsius)
    assert_same(by_file.module.state_dict(), by_name.module.state_dict())
    difference = abs(by_file.predict()["t2m"] - converted.predict()["t2m"])
    assert float(difference.max()) < 0.01
    assert converted.predict()["t2m"].attrs["units"] == "K"


def test_two_updates_in_a_row_are_one(series: Path, all_weather: xr.Dataset) -> None:
    once, twice = gpvae.load(series / RUN), gpvae.load(series / RUN)
    once.update(all_weather.isel(time=slice(40, 85)))
    twice.update(all_weather.isel(time=slice(40, 61))).update(all_weather.isel(time=slice(61, 85)))
    assert_same(once.module.state_dict(), twice.module.state_dict())
    assert (once.num_tasks, once.num_waiting) == (twice.num_tasks, twice.num_waiting) == (4, 5)
    # Without the data of task 3, that is not scored again after task 4, and references for the skill are unknown.
    rows = "(task == 4 or after_task < 4) and not metric.str.startswith('skill')"
    left, right = (run.scores.query(rows).reset_index(drop=True) for run in (once, twice))
    assert left.equals(right)


def test_random_numbers_and_the_working_folder_are_left_alone(series: Path, all_weather: xr.Dataset) -> None:
    run, folder = gpvae.load(series / RUN), Path.cwd()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    run.update(all_weather.isel(time=slice(40, 60)))
    assert torch.equal(torch.rand(3), expected)
    assert Path.cwd() == folder


def test_new_data_that_do_not_fit_are_refused(series: Path, all_weather: xr.Dataset) -> None:
    run = gpvae.load(series / RUN)
    state = {name: value.clone() for name, value in run.module.state_dict().items()}
    new = all_weather.isel(time=slice(40, 60))
    with pytest.raises(ValueError, match=r"no variable 'tp'.*They have: "):
        run.update(new.drop_vars("tp"))
    with pytest.raises(
        ValueError, match=r"3 of 12 locations that were learnt .*such as \(52, -0.25\): the nearest there"
    ):
        run.update(new.isel(longitude=slice(0, 3)))
    with pytest.raises(ValueError, match=r"no data from 2020-01-31T21:00 to 2020-02-03T05:00, which come before"):
        run.update(weather(60, start="2020-02-03T05"))
    with pytest.raises(ValueError, match="'nonsense'"):
        run.update(new.assign(t2m=new["t2m"].assign_attrs(units="nonsense")))
    with pytest.raises(TypeError, match="a dataset of xarray, or names of files; got int"):
        run.update(3)
    with pytest.raises(FileNotFoundError, match="matches no file"):
        run.update("nowhere/*.nc")
    assert run.num_tasks == 2
    assert_same(run.module.state_dict(), state)
    run.save()
    assert not (series / RUN / "waiting.nc").exists()


def test_hours_that_are_missing_are_named(
    series: Path, all_weather: xr.Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    run = gpvae.load(series / RUN)
    run.update(all_weather.isel(time=slice(48, 60)))  # hours 40 to 44 are in the file of the run
    assert "from 2020-01-31T21:00 to 2020-02-01T00:00" in caplog.text
    assert "1 new task learnt, 3 in all; 0 hours wait for more data" in caplog.text
    (series / "0.nc").unlink()
    run = gpvae.load(series / RUN)
    run.update(all_weather.isel(time=slice(43, 60)))
    assert "Hours are missing in the new data, from 2020-01-31T16:00 to 2020-01-31T19:00" in caplog.text
    assert "Earlier tasks are not scored again, because their data cannot be read" in caplog.text


def test_a_run_that_has_gone_on_elsewhere_is_not_overwritten(
    series: Path, all_weather: xr.Dataset, command: Command
) -> None:
    run = gpvae.load(series / RUN)
    run.update(all_weather.isel(time=slice(40, 60)))
    write_old(all_weather.isel(time=slice(0, 60)), series / "0.nc", packed=False)
    command(series, *FIT)
    before = files(series / RUN)
    with pytest.raises(RuntimeError, match="has gone on since it was loaded: load it again"):
        run.save()
    assert files(series / RUN) == before


def test_runs_that_cannot_be_updated_say_why(series: Path, all_weather: xr.Dataset, command: Command) -> None:
    new = all_weather.isel(time=slice(40, 60))
    config = (series / RUN / "config.yaml").read_text()
    (series / RUN / "config.yaml").write_text(config.replace("devices: auto", "devices: 2"))
    with pytest.raises(ValueError, match=r"several processes \(trainer.devices is 2\)"):
        gpvae.load(series / RUN).update(new)
    (series / RUN / "config.yaml").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no config.yaml, which names its data and options"):
        gpvae.load(series / RUN).update(new)
    write_config(series, "joint.yaml", model=MODEL, data={**DATA, "joint": True})
    command(series, "fit", "-c", "joint.yaml")
    with pytest.raises(ValueError, match="all its tasks at once"):
        gpvae.load(series / "runs" / "joint" / "seed_3").update(weather(130))


def test_a_run_that_stopped_within_a_task_is_finished_first(series: Path, all_weather: xr.Dataset) -> None:
    file = series / RUN / "checkpoints" / "last.ckpt"
    checkpoint = torch.load(file, weights_only=True)
    checkpoint["state_dict"]["begun"] += 1
    torch.save(checkpoint, file)
    run = gpvae.load(series / RUN)
    assert "2 tasks learnt, and part of task 3" in repr(run)
    with pytest.raises(ValueError, match="has stopped within task 3: finish that first"):
        run.update(all_weather.isel(time=slice(40, 60)))


def test_a_run_of_the_sample_takes_other_data(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    data = {"class_path": "ERA5", "points": 3, "variables": ["t2m", "tp"], "num_tasks": 2, "hours_per_task": 12}
    write_config(tmp_path, "sample.yaml", model=MODEL, data={**data, "epochs_per_task": 1})
    command(tmp_path, "fit", "-c", "sample.yaml")
    run = gpvae.load(tmp_path / "runs" / "sample" / "seed_3")
    new = run.predict(pd.date_range("2020-01-02", periods=12, freq="h"))[["t2m", "tp"]]
    run.update(new)
    assert run.num_tasks == 3
    assert run.scores.query("after_task == 3 and metric == 'nlpd' and variable == ''")["task"].tolist()[:3] == [1, 2, 3]


def test_temporary_folders_are_removed(
    series: Path, tmp_path: Path, all_weather: xr.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    run = gpvae.load(series / RUN)
    run.update(all_weather.isel(time=slice(40, 60)))
    assert list((tmp_path / "temporary").glob("gpvae-update-*"))
    run.save()
    gc.collect()
    assert not list((tmp_path / "temporary").glob("gpvae-update-*"))
