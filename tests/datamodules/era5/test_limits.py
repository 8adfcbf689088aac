"""Impossible values: recognised as gaps, masked and reported, or refused if they are many."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from datamodules.data_folder import data_dir
from datamodules.era5 import ERA5, read_era5
from datamodules.era5.limits import FILLS, LIMITS, limits_of, robust_limits
from datamodules.era5.variables import KNOWN, describe
from tests.datamodules.era5.streams import from_files, made
from tests.datamodules.era5.written import weather, write_new

FEW: dict[str, Any] = {"source": "files", "num_tasks": 3, "hours_per_task": 20, "points": None}
MANY = 60 * 12


def with_values(name: str, value: float, *hours: int) -> xr.Dataset:
    data = weather(60)
    for hour in hours:
        data[name][hour, 1, 2] = value
    return data


def num_missing(stream: ERA5, name: str) -> int:
    number = [variable.short_name for variable in stream.variables].index(name)
    parts = [*stream._prepared().train, *stream._prepared().test]
    return sum(int((~part.mask[..., number]).sum()) for part in parts)


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_the_same_in_all_units(name: str) -> None:
    known = KNOWN[name]
    others = {"K": "degC", "Pa": "hPa", "m": "mm", "(0 - 1)": "%", "J m**-2": "W m-2"}
    other = describe(name, units=others.get(known.units, known.units))
    low, high = limits_of(describe(name)) or (0, 0)
    scale, offset = known.conversion(known.units, other.units)
    assert limits_of(other) == pytest.approx((low * scale + offset, high * scale + offset))
    assert low < high


@pytest.mark.parametrize(
    ("name", "value"),
    [("t2m", 400.0), ("t2m", 26.0), ("sp", 990.0), ("tp", -0.5), ("tp", 40.0), ("t2m", 3e25), ("sp", -1.0)],
)
def test_a_few_values_beyond_the_limits_are_masked_and_reported(
    name: str, value: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stream = from_files(with_values(name, value, 25, 47), tmp_path / "a.nc")
    assert num_missing(stream, name) == 2
    assert f"{name}: 2 values are physically impossible and count as missing: the first is {value:g}" in caplog.text
    assert f"at 2020-01-31T01:00 in {tmp_path / 'a.nc'}" in caplog.text
    assert all(num_missing(stream, other) == 0 for other in {"t2m", "sp", "tp"} - {name})


def test_reading_a_dataset_masks_and_refuses_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_new(with_values("t2m", 400.0, 25, 47), tmp_path / "a.nc")
    data = read_era5(str(tmp_path / "a.nc"))
    assert np.argwhere(np.isnan(data["t2m"].values)).tolist() == [[25, 1, 2], [47, 1, 2]]
    assert not np.isnan(data["sp"].values).any()
    assert "t2m: 2 values are physically impossible and count as missing: the first is 400 K at 2020" in caplog.text
    write_new(weather(60).assign(t2m=weather(60)["t2m"] - 273.15), tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"t2m \(2m_temperature\) has 720 of 720 values beyond 150 to 350 K"):
        read_era5(str(tmp_path / "a.nc"))


@pytest.mark.parametrize("fill", FILLS.tolist())
@pytest.mark.parametrize("name", ["t2m", "own"])
def test_numbers_that_mark_gaps_count_as_missing_however_many(
    name: str, fill: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = weather(60)
    data["own"] = data["t2m"] - 273
    data[name] = data[name].where(np.arange(12).reshape(3, 4) % 3 > 0, np.float32(fill))
    stream = from_files(data, tmp_path / "a.nc")
    assert num_missing(stream, name) == MANY // 3
    assert f"{name}" in caplog.text
    assert "mark gaps, though the file" in caplog.text


def test_numbers_that_mark_gaps_in_other_units(tmp_path: Path) -> None:
    """-9999 °C in one of two files, the first of which is in K."""
    first, second = weather(60).isel(time=slice(0, 30)), weather(60).isel(time=slice(30, 60))
    second["t2m"] = (second["t2m"] - 273.15).assign_attrs(units="degC")
    second["t2m"][4:9, 0, 0] = -9999.0
    for number, data in enumerate((first, second)):
        data.to_netcdf(tmp_path / f"{number}.nc")
    assert num_missing(made(**FEW, paths=str(tmp_path / "*.nc")), "t2m") == 5


def test_extremes_of_packed_integers(tmp_path: Path) -> None:
    data = weather(60)
    packing = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280.0}
    data["t2m"].encoding = packing
    raw = np.full((60, 3, 4), 7, np.int16)
    raw[:, 0, 0] = -32768
    packed = data.drop_vars("t2m")
    packed["t2m"] = (("time", "latitude", "longitude"), raw, {"units": "K", "scale_factor": 0.01, "add_offset": 280.0})
    packed.to_netcdf(tmp_path / "a.nc", encoding={"t2m": {"_FillValue": None}})
    assert num_missing(made(**FEW, paths=str(tmp_path / "a.nc")), "t2m") == 60


def test_a_scale_factor_of_zero(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = weather(60)
    raw = data["t2m"].astype(np.int16).assign_attrs(units="K", scale_factor=0.0, add_offset=280.0)
    data.assign(t2m=raw).to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match="No value of t2m is observed"):
        made(**FEW, paths=str(tmp_path / "a.nc"))
    assert f"t2m in {tmp_path / 'a.nc'} has scale_factor 0" in caplog.text


def test_many_values_are_refused(tmp_path: Path) -> None:
    celsius = weather(60)
    celsius["t2m"] = celsius["t2m"] - 273.15  # without the attribute
    expected = (
        r"t2m \(2m_temperature\) has 240 of 240 values beyond 150 to 350 K, more than 1%: the first is "
        r".* K at 2020-01-30T00:00 in .*a.nc. Check its units"
    )
    with pytest.raises(ValueError, match=expected):
        from_files(celsius, tmp_path / "a.nc")


@pytest.mark.parametrize("name", ["t2m", "own"])
def test_values_on_disk_are_screened_alike(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path))
    data = weather(60)
    data["own"] = data["t2m"] - 273
    data[name][25, 1, 2], data[name][47, 0, 1] = -9999.0, 3e25
    one, two, three = (from_files(data, tmp_path / "a.nc", on_disk=on_disk) for on_disk in (False, True, True))
    for other in (two, three):
        for task in range(3):
            assert all((a == b).all() for a, b in zip(one.task_data(task), other.task_data(task), strict=True))
    assert num_missing(one, name) == 2


finite = st.floats(-1e6, 1e6, width=32)


@given(arrays(np.float32, st.integers(1, 300), elements=finite.filter(lambda value: value not in FILLS)))
def test_nothing_natural_is_beyond_robust_limits(values: np.ndarray) -> None:
    values = np.where(np.abs(values) < 1e-3, 0, values)
    low, high = robust_limits(values, FILLS)
    assert ((low <= values) & (values <= high)).all()


@given(st.integers(150, 400), st.integers(0, 149), st.sampled_from([1e15, -1e18, 3e25]))
def test_a_flipped_exponent_is(count: int, place: int, value: float) -> None:
    values = np.random.default_rng(0).standard_normal(count).astype(np.float32)
    values[place] = value
    low, high = robust_limits(values, FILLS)
    assert ((values < low) | (values > high)).nonzero()[0].tolist() == [place]


def test_rain_among_noise_of_packing_is_natural() -> None:
    values = np.full(1000, 1e-9, np.float32)
    values[500:503] = 0.02
    assert robust_limits(values, FILLS) == (-np.inf, np.inf)


@pytest.mark.parametrize("pattern", ["finse_2018/*.nc", "cornwall_2018_05/*.nc"])
def test_real_data_are_within_the_limits(pattern: str, caplog: pytest.LogCaptureFixture) -> None:
    folder = data_dir() / "era5"
    if not folder.is_dir():
        pytest.skip("real ERA5 is not in GPVAE_DATA_DIR")
    stream = made(source="files", paths=str(folder / pattern), points=None, num_tasks=None, hours_per_task=100)
    assert stream._prepared().observed == 1.0
    assert "count as missing" not in caplog.text
