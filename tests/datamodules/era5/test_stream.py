"""ERA5 as a stream: tasks, what is held out, what the scale is taken from, and how series are shared."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from datamodules.era5 import ERA5, SeriesBatch, SeriesLoader
from tests.datamodules.era5.streams import from_files, made
from tests.datamodules.era5.written import weather


@pytest.fixture
def stream(sample_folder: Path) -> ERA5:
    return made()


def test_hours(stream: ERA5) -> None:
    assert [type(part) for part in stream.test_loader(0, 0, 1)] == [SeriesBatch]
    for task in range(4):
        times, y, mask = stream.task_data(task)
        (batch,) = stream.test_loader(task, 0, 1)
        assert len(times) == 24
        assert len(batch.times) == 6
        together = torch.cat([times, batch.times]).sort().values
        assert torch.equal(together, torch.arange(30 * task, 30 * (task + 1), dtype=torch.float64))
        assert (times.diff() > 0).all()
        assert (batch.times.diff() > 0).all()
        assert times.dtype == torch.float64
        assert y.shape == mask.shape == (9, 24, 17)
        assert (y.dtype, mask.dtype) == (torch.float32, torch.bool)
        assert (y[~mask] == 0).all()
        assert y.isfinite().all()


def test_what_is_held_out_depends_on_seed_and_task(stream: ERA5) -> None:
    def held_out(stream: ERA5) -> list[list[float]]:
        return [(next(iter(stream.test_loader(task, 0, 1))).times - 30 * task).tolist() for task in range(4)]

    found = held_out(stream)
    assert found == held_out(made())
    assert len({tuple(hours) for hours in found}) == 4
    assert found != held_out(made(seed=4))
    assert held_out(made(num_tasks=5))[:3] == found[:3]


def test_properties(stream: ERA5) -> None:
    assert (stream.num_series, stream.num_variables, len(stream.variables)) == (9, 17, 17)
    assert stream.units[0] == "K"
    assert stream.units[7] == "m"
    assert stream.synthetic
    latitude, longitude, origin = stream.coordinates
    assert latitude.shape == longitude.shape == (9,)
    assert origin == np.datetime64("2020-01-01T00:00")
    assert stream.num_batches == 1
    assert made(batch_size=4).num_batches == 3
    assert stream.num_hours == 120


def test_back_to_the_units_of_files(tmp_path: Path) -> None:
    data = weather()
    stream = from_files(data, tmp_path / "a.nc")
    times, y, _ = stream.task_data(1)
    cells = data[["t2m", "sp", "tp"]].to_dataarray().stack(cell=("latitude", "longitude")).transpose("cell", ...)
    truth = torch.from_numpy(cells.values.copy()).movedim(1, -1)[:, times.long()]
    series = torch.tensor([5, 2])
    samples = y[series].expand(7, -1, -1, -1)
    back = stream.to_physical(samples, series)
    torch.testing.assert_close(back, truth[series].double().expand_as(back), rtol=1e-6, atol=1e-8)


def test_the_first_task_has_mean_0_and_variance_1(stream: ERA5) -> None:
    _, y, mask = stream.task_data(0)
    for number in range(17):
        seen = y[..., number][mask[..., number]].double()
        assert seen.mean().abs() < 1e-4
        assert seen.square().mean() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("changed", ["later tasks", "held-out hours"])
def test_the_scale_is_taken_from_training_hours_of_the_first_task_only(changed: str, tmp_path: Path) -> None:
    data = weather()
    before = from_files(data, tmp_path / "a.nc")
    times, y, _ = before.task_data(0)
    hours = np.arange(20, 60)
    if changed == "held-out hours":
        hours = next(iter(before.test_loader(0, 0, 1))).times.numpy().astype(int)
    other = data.copy(deep=True)
    for name in ("t2m", "sp", "tp"):
        other[name][hours] = 1.02 * other[name][hours]
    after = from_files(other, tmp_path / "b.nc")
    for one, two in zip((times, y), after.task_data(0), strict=False):
        assert torch.equal(one, two)
    values = torch.randn(12, 5, 3)
    everyone = torch.arange(12)
    assert torch.equal(before.to_physical(values, everyone), after.to_physical(values, everyone))


def test_training_never_sees_held_out_hours(tmp_path: Path) -> None:
    data = weather()
    clean = from_files(data, tmp_path / "a.nc")
    held_out = torch.cat([next(iter(clean.test_loader(task, 0, 1))).times for task in range(3)]).long().numpy()
    for name, value in {"t2m": 340.0, "sp": 40_000.0, "tp": 0.2}.items():
        data[name][held_out] = value
    dirty = from_files(data, tmp_path / "b.nc")
    for task in range(3):
        assert all(torch.equal(*pair) for pair in zip(clean.task_data(task), dirty.task_data(task), strict=True))
        for epoch in (0, 5):
            for one, two in zip(
                clean.train_loader(task, epoch, 0, 1), dirty.train_loader(task, epoch, 0, 1), strict=True
            ):
                assert all(torch.equal(*pair) for pair in zip(one, two, strict=True))


def rows(loader: SeriesLoader) -> list[Tensor]:
    return [batch.series for batch in loader]


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("batch_size", [1, 2, 100, None])
def test_processes_share_series(sample_folder: Path, batch_size: int | None, world_size: int) -> None:
    stream = made(batch_size=batch_size)
    _, y, mask = stream.task_data(2)
    loaders = [stream.train_loader(2, 7, rank, world_size) for rank in range(world_size)]
    assert len({len(list(loader)) for loader in loaders}) == 1
    given = torch.cat([series for loader in loaders for series in rows(loader)])
    assert given.sort().values.tolist() == list(range(9))
    for rank, loader in enumerate(loaders):
        assert batch_size is not None or len(loader) == 1
        for batch in loader:
            assert set((batch.series % world_size).tolist()) == {rank}  # each its own, of which it knows the past
            assert torch.equal(batch.y, y[batch.series])
            assert torch.equal(batch.mask, mask[batch.series])
    tested = torch.cat([s for rank in range(world_size) for s in rows(stream.test_loader(2, rank, world_size))])
    assert tested.sort().values.tolist() == list(range(9))
    if world_size == 1 and batch_size == 2:
        others = [torch.cat(rows(stream.train_loader(2, epoch, 0, 1))).tolist() for epoch in range(5)]
        assert len({tuple(order) for order in others}) == 5


def test_a_loader_goes_on_where_another_stopped(sample_folder: Path) -> None:
    stream = made(batch_size=2)
    whole = rows(stream.train_loader(1, 6, 0, 1))
    interrupted = stream.train_loader(1, 6, 0, 1)
    assert len(list(islice(interrupted, 2))) == 2
    resumed = made(batch_size=2).train_loader(1, 6, 0, 1)
    resumed.load_state_dict(interrupted.state_dict())
    assert [series.tolist() for series in rows(resumed)] == [series.tolist() for series in whole[2:]]
