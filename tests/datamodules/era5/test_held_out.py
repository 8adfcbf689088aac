"""Locations that are held out of training, and what files say of locations beside their values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

from datamodules.era5 import ERA5, SeriesLoader
from datamodules.era5.scaling import expected_means

OPTIONS: dict[str, Any] = {"points": None, "num_tasks": 2, "hours_per_task": 24, "seed": 3}


def mountains(with_height: bool = True) -> xr.Dataset:
    """Temperature, and a pressure that falls with height, on a grid of 5 x 6 cells."""
    rng = np.random.default_rng(0)
    latitude, longitude = np.arange(62.0, 59.9, -0.5), np.arange(6.0, 8.6, 0.5)
    times = np.datetime64("2020-01-01", "ns") + np.arange(48) * np.timedelta64(1, "h")
    height = rng.uniform(0, 1500, (5, 6))
    weather = rng.normal(size=(48, 1, 1)).cumsum(0)
    sp = 101_300 * np.exp(-height / 8_000) + 100 * weather
    t2m = 280 - 0.0065 * height + weather + rng.normal(size=(48, 5, 6))
    axes = ("valid_time", "latitude", "longitude")
    data = {
        "t2m": (axes, t2m.astype(np.float32), {"units": "K"}),
        "sp": (axes, sp.astype(np.float32), {"units": "Pa"}),
    }
    if with_height:
        static = np.broadcast_to(height * 9.80665, (48, 5, 6)).astype(np.float32)
        data["z"] = (axes, static, {"units": "m**2 s**-2"})
        data["lsm"] = (axes, np.ones((48, 5, 6), np.float32), {"units": "(0 - 1)"})
    return xr.Dataset(data, {"valid_time": times, "latitude": latitude, "longitude": longitude})


def stream(data: xr.Dataset | None = None, **options: Any) -> ERA5:
    made = ERA5("files", mountains() if data is None else data, **OPTIONS | options)
    made.prepare_data()
    made.setup()
    return made


def test_height_and_land_come_from_the_files() -> None:
    made = stream()
    assert set(made.statics) == {"height", "land"}
    np.testing.assert_allclose(made.statics["height"], mountains()["z"][0].values.ravel() / 9.80665, rtol=1e-6)
    assert [variable.short_name for variable in made.variables] == ["t2m", "sp"]
    assert not stream(mountains(with_height=False)).statics


def test_nothing_of_held_out_locations_is_learnt() -> None:
    data = mountains()
    made = stream(data, test_locations=7)
    held_out = made.held_out_locations
    assert held_out is not None
    assert int(held_out.sum()) == 7
    row, column = np.unravel_index(np.flatnonzero(held_out), (5, 6))
    changed = data.copy(deep=True)
    for name in ("t2m", "sp"):
        changed[name].values[:, row, column] *= 0.95
    other = stream(changed, test_locations=7)
    for task in range(2):
        times, y, mask = made.task_data(task)
        assert not mask[held_out].any()
        assert mask[~held_out].all()
        assert all(torch.equal(*pair) for pair in zip((times, y, mask), other.task_data(task), strict=True))
    assert all(torch.equal(made.identity()[key], other.identity()[key]) for key in ("values of the first task",))


def test_held_out_locations_are_scored_apart() -> None:
    made = stream(test_locations=7)
    held_out = made.held_out_locations
    assert held_out is not None
    for task in range(2):
        seen = torch.cat([batch.mask.flatten(1).any(1) for batch in made.test_loader(task, 0, 1)])
        apart = torch.cat([batch.mask.flatten(1).any(1) for batch in made.location_loader(task, 0, 1)])
        assert torch.equal(seen, ~held_out)
        assert torch.equal(apart, held_out)
    values = next(iter(made.location_loader(0, 0, 1)))
    physical = made.to_physical(values.y, values.series)[values.mask]
    assert bool(torch.isfinite(physical).all())


def test_the_choice_depends_on_the_seed_only() -> None:
    first, again, other = (stream(test_locations=7, seed=seed).held_out_locations for seed in (3, 3, 4))
    assert torch.equal(first, again)  # type: ignore[arg-type]
    assert not torch.equal(first, other)  # type: ignore[arg-type]


def test_own_means_of_held_out_locations_follow_from_their_height() -> None:
    """Pressure has a mean for each location, which differs by 150 hPa; from its height it is known to one or two."""
    made, complete = stream(test_locations=7), stream()
    held_out = made.held_out_locations
    assert held_out is not None
    ours, theirs = (part._prepared().scaling.mean[held_out, 1] for part in (made, complete))
    assert float(theirs.std()) > 3000
    assert float((ours - theirs).abs().max()) < 300


def test_errors_of_means_are_known() -> None:
    """With heights they are small beside the weather; without, pressure at a location never seen is a guess."""
    known, guessed = (stream(mountains(height), test_locations=7).mean_errors for height in (True, False))
    assert known[0] == guessed[0] == 0  # temperature has a common mean
    made, complete = stream(test_locations=7), stream()
    held_out, deviation = made.held_out_locations, complete._prepared().scaling.deviation[1]
    ours, theirs = (part._prepared().scaling.mean[held_out, 1] for part in (made, complete))
    assert 0.1 < float(((ours - theirs) / deviation).square().mean() / known[1]) < 10
    assert float(guessed[1]) > 100 * float(known[1])


def test_files_hold_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path))
    memory, disk = (stream(test_locations=7, on_disk=on_disk) for on_disk in (False, True))
    for task in range(2):
        assert all(torch.equal(*pair) for pair in zip(memory.task_data(task), disk.task_data(task), strict=True))


def test_some_locations_must_remain() -> None:
    with pytest.raises(ValueError, match="test_locations is 30, and there are 30 locations: hold out fewer"):
        stream(test_locations=30)
    with pytest.raises(ValueError, match="No locations are held out: set test_locations"):
        stream().location_loader(0, 0, 1)


def test_means_on_a_curved_plane_are_found_exactly_and_few_are_not_extrapolated() -> None:
    positions = torch.randn(40, 3, dtype=torch.float64)
    means = (1 + positions @ torch.tensor([1.0, 2.0, 3.0]).double() + positions[:, 2] ** 2)[:, None].expand(-1, 2)
    known = torch.ones(40, 2, dtype=torch.bool)
    known[20:, 0] = False
    known[4:, 1] = False
    found, errors = expected_means(positions, means, known, torch.tensor([7.0, 7.0]).double())
    assert float(errors[0]) < 1e-12
    assert float(errors[1]) == pytest.approx(float((means[:4, 1] - 7).square().mean()))
    torch.testing.assert_close(found[:, 0], means[:, 0])
    assert found[:, 1].tolist() == [7.0] * 40


def test_hidden_series_are_masked_in_a_batch_of_the_whole_task() -> None:
    times, y, mask = torch.arange(3.0), torch.ones(2, 3, 1), torch.ones(2, 3, 1, dtype=torch.bool)
    (batch,) = SeriesLoader(times, y, mask, hidden=torch.tensor([True, False]))
    assert batch.mask.flatten(1).any(1).tolist() == [False, True]


def test_positions_across_the_date_line_are_beside_each_other() -> None:
    data = mountains(with_height=False)
    across = data.assign_coords(longitude=data["longitude"].values + 173.0)
    assert np.unique(stream(across).fields.positions[:, 1]).tolist() == [179.0, 179.5, 180.0, 180.5, 181.0, 181.5]
    assert np.unique(stream(data).fields.positions[:, 1]).tolist() == [6.0, 6.5, 7.0, 7.5, 8.0, 8.5]
