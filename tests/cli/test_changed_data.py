"""Data that have changed since they were learnt: named, refused, or accepted and recorded."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
import yaml

from callbacks.data_identity import CHECKPOINT_KEY
from datamodules.era5.prepared_files import FOLDER
from gpvae.results.config_history import FILE_NAME
from tests.cli.program import assert_same, refused, run_here, weights, write_config
from tests.cli.test_new_data import DATA, FIT, MODEL, RUN
from tests.datamodules.era5.written import weather, write_new

LAST = RUN / "checkpoints" / "last.ckpt"
ACCEPT = ("--accept", "changed")


def start(folder: Path, data: xr.Dataset, expver: str | np.ndarray = "0001", **options: Any) -> Path:
    """Learn two of three tasks."""
    write_config(folder, "weather.yaml", model=MODEL, data={**DATA, **options})
    write_new(data, folder / "0.nc", expver)
    run_here(folder, *FIT, "--data.stop_after", "2")
    return folder


def changed(hour: int, by: float = 0.5, name: str = "t2m") -> xr.Dataset:
    data = weather(60)
    data[name][hour, 1, 2] += by
    return data


@pytest.mark.parametrize("on_disk", [False, True])
def test_one_value_of_a_learnt_task(on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    folder = start(tmp_path, weather(60), on_disk=on_disk)
    write_new(changed(23), folder / "0.nc")
    message = refused(folder, *FIT)
    assert "values of task 2 differ" in message
    assert "t2m at 2020-01-30T23:00; not preliminary when learnt, so a file is damaged or was replaced" in message
    assert "add --accept changed: what was learnt from them stays" in message
    assert not (folder / RUN / FILE_NAME).exists()


def test_accepted_data_are_recorded_and_are_those_of_the_run_then(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = start(tmp_path, weather(60))
    before = weights(folder / LAST)
    write_new(changed(23), folder / "0.nc")
    run_here(folder, *FIT, *ACCEPT)
    assert "Accepted: data, values of task 2 are not those that were learnt (t2m at 2020-01-30T23:00" in caplog.text
    (entry,) = yaml.safe_load((folder / RUN / FILE_NAME).read_text())
    assert entry["after_task"] == 2
    assert entry["changed"]["data, values of task 2"]["from"] == "as learnt"
    assert "t2m at 2020-01-30T23:00" in entry["changed"]["data, values of task 2"]["to"]
    run_here(folder, *FIT)
    write_new(weather(60), folder / "0.nc")
    assert "values of task 2 differ" in refused(folder, *FIT)
    assert before.keys() == weights(folder / LAST).keys()


def test_the_third_task_is_learnt_as_if_nothing_had_changed(tmp_path: Path) -> None:
    """What was learnt before does not depend on the data of earlier tasks, so neither does the result."""
    results = []
    for name, data in (("same", weather(60)), ("other", changed(23))):
        (tmp_path / name).mkdir()
        folder = start(tmp_path / name, weather(60))
        write_new(data, folder / "0.nc")
        run_here(folder, *FIT, *ACCEPT)
        results.append(weights(folder / LAST))
    assert_same(*({k: v for k, v in one.items() if not k.startswith("metrics")} for one in results))


def test_tasks_that_are_not_learnt_yet_may_change(tmp_path: Path) -> None:
    folder = start(tmp_path, weather(60))
    write_new(changed(45), folder / "0.nc")
    run_here(folder, *FIT)
    assert not (folder / RUN / FILE_NAME).exists()


def test_the_first_task_sets_the_scale_and_cannot_change(tmp_path: Path) -> None:
    folder = start(tmp_path, weather(60))
    write_new(changed(3, by=1e-3), folder / "0.nc")
    for words in ((), ACCEPT):
        message = refused(folder, *FIT, *words)
        assert "values of the first task differ" in message
        assert "t2m at 2020-01-30T03:00" in message
        assert "--accept" not in message


def test_a_task_under_way_cannot_change(tmp_path: Path) -> None:
    write_config(tmp_path, "weather.yaml", model=MODEL, data=DATA)
    write_new(weather(60), tmp_path / "0.nc")
    run_here(tmp_path, *FIT, "--trainer.max_epochs", "3")  # of 2 a task
    write_new(changed(23), tmp_path / "0.nc")
    message = refused(tmp_path, *FIT, *ACCEPT)
    assert "the checkpoint is within task 2, whose data have changed (t2m at 2020-01-30T23:00" in message


def test_a_revision_of_preliminary_values(tmp_path: Path) -> None:
    folder = start(tmp_path, weather(60), np.where(np.arange(60) < 20, "0001", "0005"))
    write_new(changed(23), folder / "0.nc")  # final now
    message = refused(folder, *FIT)
    assert "preliminary (ERA5T) when it was learnt, so this may be the final version of ERA5" in message
    assert "damaged" not in message


def test_checkpoints_without_digests_resume_as_before(tmp_path: Path) -> None:
    folder = start(tmp_path, weather(60))
    checkpoint = torch.load(folder / LAST, weights_only=True)
    del checkpoint[CHECKPOINT_KEY]["digests of values"]
    torch.save(checkpoint, folder / LAST)
    write_new(changed(23), folder / "0.nc")
    run_here(folder, *FIT)
    assert "digests of values" in torch.load(folder / LAST, weights_only=True)[CHECKPOINT_KEY]


def test_points_of_a_table(tmp_path: Path) -> None:
    rows = pd.DataFrame({"x": np.arange(60.0), "y": np.sin(np.arange(60) / 5)})
    rows.to_csv(tmp_path / "a.csv", index=False)
    table = {"class_path": "DataTable", "paths": "a.csv", "points_per_task": 20}
    write_config(tmp_path, "weather.yaml", data=table)
    run_here(tmp_path, *FIT, "--data.stop_after", "2")
    rows.assign(y=rows["y"].where(rows.index != 25, 0.5)).to_csv(tmp_path / "a.csv", index=False)
    message = refused(tmp_path, *FIT)
    assert "points of task 2 differ" in message
    assert "--accept changed" in message
    run_here(tmp_path, *FIT, *ACCEPT)
    (entry,) = yaml.safe_load((tmp_path / RUN / FILE_NAME).read_text())
    assert entry["changed"] == {"data, points of task 2": {"from": "as learnt", "to": "other points"}}


@pytest.mark.parametrize("kind", ["y", "mask"])
def test_damaged_files_of_values_are_noticed(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    folder = start(tmp_path, weather(60), on_disk=True)
    (stored,) = (tmp_path / "data" / FOLDER).glob(f"*/train_02_{kind}*")
    content = bytearray(stored.read_bytes())
    content[len(content) // 2] ^= 1
    stored.write_bytes(content)
    message = refused(folder, *FIT)
    assert f"train_02_{kind}.0_of_1 is damaged: its values are not those that were written" in message
    assert f"Remove {stored.parent}, and it is created again" in message
