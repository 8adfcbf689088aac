"""A dataset of xarray in place of files: the same stream, bit for bit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from callbacks.data_identity import CHECKPOINT_KEY, check_same_data
from datamodules.era5 import ERA5
from tests.datamodules.era5.streams import made
from tests.datamodules.era5.written import weather, write_new

FEW = {"source": "files", "num_tasks": 3, "hours_per_task": 20, "points": 5}


def incomplete() -> xr.Dataset:
    """Weather in which hours and values are missing."""
    data = weather().isel(time=np.delete(np.arange(60), [3, 40, 41]))
    return data.assign(t2m=data["t2m"].where(data["t2m"] < 290))


def assert_same_stream(one: ERA5, other: ERA5) -> None:
    """The same batches, coordinates and identity, bit for bit."""
    assert one.num_tasks == other.num_tasks
    assert one.variables == other.variables
    for task in range(one.num_tasks):
        for batch, expected in ((one.task_data(task), other.task_data(task)), *zip(
            one.test_loader(task, 0, 1), other.test_loader(task, 0, 1), strict=True
        )):  # fmt: skip
            assert all(torch.equal(a, b) for a, b in zip(batch, expected, strict=True))
    for here, there in zip(one.file_coordinates, other.file_coordinates, strict=True):
        np.testing.assert_array_equal(here, there)
        assert here.dtype == there.dtype
    options = {"state_dict": {"begun": 0, "learned": 0}, "datamodule_hyper_parameters": dict(one.hparams)}
    check_same_data({CHECKPOINT_KEY: one.identity(), **options}, other)


DATA: dict[str, Callable[[], xr.Dataset]] = {
    "grid": weather,
    "incomplete": incomplete,
    "from south to north": lambda: weather().isel(latitude=slice(None, None, -1)),
    "scattered": lambda: weather().stack(place=("latitude", "longitude")).reset_index("place"),
    "as the store names it": lambda: weather().rename(time="valid_time").assign_coords(number=0, expver="0001"),
}


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_dataset_gives_the_stream_of_its_file(
    kind: str, on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path))
    data = DATA[kind]()
    data.to_netcdf(tmp_path / "a.nc")
    assert_same_stream(
        made(**FEW, paths=data, on_disk=on_disk), made(**FEW, paths=str(tmp_path / "a.nc"), on_disk=on_disk)
    )


def test_a_dataset_that_is_not_loaded(tmp_path: Path) -> None:
    write_new(weather(), tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", cache=False) as lazy:
        stream = made(**FEW, paths=lazy)
        assert not lazy["t2m"].variable._in_memory
    assert_same_stream(stream, made(**FEW, paths=str(tmp_path / "a.nc")))


def test_the_dataset_stays_as_it_is() -> None:
    data = weather()
    before = data.copy(deep=True)
    made(**FEW, paths=data)
    xr.testing.assert_identical(data, before)


def test_options_hold_no_values() -> None:
    stream = made(**FEW, paths=weather())
    assert stream.hparams["paths"] == "xarray.Dataset"
    assert stream.hparams_initial["paths"] == "xarray.Dataset"
    assert "paths='xarray.Dataset'" in str(stream)


def test_values_on_disk_are_those_of_the_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two datasets that differ in one value do not share the files of `on_disk`."""
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path))
    data = weather()
    made(**FEW, paths=data, on_disk=True)
    changed = data.copy(deep=True)
    changed["t2m"][30] += 1
    found, expected = made(**FEW, paths=changed, on_disk=True), made(**FEW, paths=changed)
    assert_same_stream(found, expected)


def test_one_dataset_only() -> None:
    with pytest.raises(ValueError, match=r"`paths` has a Dataset: give names of files, or one dataset"):
        made(**FEW, paths=[weather(), weather()])
    with pytest.raises(ValueError, match=r"`paths` has a DataArray"):
        made(**FEW, paths=weather()["t2m"])


def test_lengths_of_time_are_left_out() -> None:
    """They would be read as nanoseconds."""
    data = weather().assign(period=weather()["t2m"].astype("timedelta64[s]").astype("timedelta64[ns]"))
    assert [variable.short_name for variable in made(**FEW, paths=data).variables] == ["t2m", "sp", "tp"]


def test_messages_name_the_dataset() -> None:
    with pytest.raises(ValueError, match="the dataset has no time"):
        made(**FEW, paths=weather().isel(time=0, drop=True))
