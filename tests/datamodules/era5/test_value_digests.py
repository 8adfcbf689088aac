"""Digests tell which values have changed, and do not depend on how they are stored."""

from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from datamodules.era5.value_digests import Digest, from_plain, to_plain
from tests.datamodules.era5.streams import from_files, made
from tests.datamodules.era5.written import weather, write_new, write_old

ORIGIN = np.datetime64("2020-01-30T00", "ns")
NAMES = ["t2m", "sp", "tp"]
SHAPE = (7, 11, 3)


def values(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    drawn = random.standard_normal(SHAPE).astype(np.float32)
    drawn[random.random(SHAPE) < 0.1] = np.nan
    return drawn


def digest(some: np.ndarray, hours: np.ndarray | None = None, preliminary: bool = False) -> Digest:
    hours = np.arange(float(some.shape[1])) if hours is None else hours
    return Digest.of(some, hours, np.full(len(hours), preliminary))


places = st.tuples(*(st.integers(0, size - 1) for size in SHAPE))


@given(places, st.integers(0, 31))
def test_any_bit_of_any_value_is_noticed_and_named(place: tuple[int, int, int], bit: int) -> None:
    before, changed = values(), values()
    changed.view(np.uint32)[place] ^= np.uint32(1 << bit)
    if np.isnan(before[place]) and np.isnan(changed[place]):
        assert digest(changed).describe_changes(digest(before), NAMES, ORIGIN) == ""
        return
    said = digest(changed).describe_changes(digest(before), NAMES, ORIGIN)
    assert said.startswith(f"{NAMES[place[2]]} at 2020-01-30T{place[1]:02d}:00; not preliminary when learnt")


@given(places, places)
def test_values_that_change_places_are_noticed(one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    before, changed = values(), values()
    changed[one], changed[other] = before[other], before[one]
    same = np.array_equal(before, changed, equal_nan=True)
    assert (digest(changed).describe_changes(digest(before), NAMES, ORIGIN) == "") == same


def test_strides_zeros_and_kinds_of_nan_do_not_matter() -> None:
    some = values()
    some[0, 0] = 0.0
    other = np.asfortranarray(some)
    other[0, 0] = -0.0
    other.view(np.uint32)[np.isnan(other)] = 0x7FC12345
    assert all(torch.equal(*pair) for pair in zip(digest(some), digest(other), strict=True))


def test_hours_that_are_gone_or_new_are_told() -> None:
    before, hours = values(), np.arange(11.0)
    fewer = digest(np.delete(before, 3, axis=1), np.delete(hours, 3))
    assert "all variables at 2020-01-30T03:00, 1 of them missing" in fewer.describe_changes(
        digest(before), NAMES, ORIGIN
    )
    assert ", 1 of them new" in digest(before).describe_changes(fewer, NAMES, ORIGIN)


def test_revisions_of_preliminary_hours_are_told_from_damage() -> None:
    before = Digest.of(values(), np.arange(11.0), np.arange(11) >= 6)
    late, both = values(), values()
    late[:, 7:9, 0] += 1
    both[:, 5:7, 0] += 1
    said = digest(late).describe_changes(before, NAMES, ORIGIN)
    assert said == (
        "t2m at 2 of 11 hours from 2020-01-30T07:00 to 2020-01-30T08:00; preliminary (ERA5T) when it was learnt, so "
        "this may be the final version of ERA5"
    )
    assert "1 preliminary (ERA5T) and 1 not preliminary when learnt" in digest(both).describe_changes(
        before, NAMES, ORIGIN
    )


def test_checkpoints_keep_them() -> None:
    digests = [digest(values(1)), digest(np.zeros((7, 0, 3), np.float32)), digest(values(2))]
    for one, other in zip(digests, from_plain(to_plain(digests)), strict=True):
        assert all(torch.equal(*pair) for pair in zip(one, other, strict=True))
        assert one.is_known == other.is_known
    with pytest.raises(ValueError, match="digests of the data in the checkpoint are damaged"):
        from_plain({**to_plain(digests), "sizes": torch.tensor([5])})


def test_layouts_and_the_order_of_files_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path))
    data = weather(60)
    expected = from_files(data, tmp_path / "a.nc").identity()["digests of values"]
    write_old(data.isel(time=slice(30, 60), latitude=slice(None, None, -1)), tmp_path / "b_0.nc", packed=False)
    write_new(data.isel(time=slice(0, 30)), tmp_path / "b_1.nc")
    few = {"source": "files", "num_tasks": 3, "hours_per_task": 20, "points": None}
    for options in ({"paths": str(tmp_path / "b_*.nc")}, {"paths": data}, {"paths": data, "on_disk": True}):
        found = made(**few, **options).identity()["digests of values"]
        for name, part in expected.items():
            assert torch.equal(part, found[name])


def test_which_hours_are_preliminary_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path))
    versions = np.where(np.arange(60) < 40, "0001", "0005")
    write_new(weather(60), tmp_path / "new.nc", expver=versions)
    mixed = xr.concat([weather(60), weather(60)], xr.Variable("expver", [1, 5]))
    mixed = mixed.where((mixed["expver"] == 1) == (mixed["time"] < mixed["time"][40]))
    mixed.to_netcdf(tmp_path / "old.nc")
    few = {"source": "files", "num_tasks": 3, "hours_per_task": 20, "points": None}
    for name in ("new", "old"):
        for on_disk in (False, True, True):  # written, and found
            stream = made(**few, paths=str(tmp_path / f"{name}.nc"), on_disk=on_disk)
            preliminary = stream.identity()["digests of values"]["preliminary"]
            assert preliminary.tolist() == [hour >= 40 for hour in range(60)]


def test_the_sample_has_none() -> None:
    """Other processors may compute other last bits of it."""
    assert "digests of values" not in made(num_tasks=1).identity()
