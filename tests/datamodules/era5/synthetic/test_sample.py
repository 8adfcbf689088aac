"""The sample is laid out as ERA5 is, hangs together as weather does, and is the same every time."""

import csv
import gzip
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from datamodules.era5 import DEFAULT_VARIABLES, read_era5
from datamodules.era5.synthetic.britain import land_and_height
from datamodules.era5.synthetic.plane_waves import PlaneWaves, noise, smooth, uniform
from datamodules.era5.synthetic.sample import START, sample_files, write_sample
from datamodules.era5.synthetic.weather import make_weather
from datamodules.public_files import data_dir
from gpvae.utils.sun import mean_cos_zenith

LAND, HEIGHT = land_and_height()
UNIFORM = [0.5118216247002567, 0.9504636963259354, 0.1441596127196338]
EXPECTED = {
    "t2m": 272.1583530662511,
    "msl": 100838.96564300056,
    "u10": 2.7180021020040073,
    "tcc": 0.5115398331000791,
    "swvl1": 0.44590929822102393,
    "blh": 240.5817118561707,
}


@pytest.fixture(scope="module")
def weather() -> dict[str, np.ndarray]:
    return make_weather(START, 1860)


def test_physical_relations(weather: dict[str, np.ndarray]) -> None:
    assert all(np.isfinite(field).all() for field in weather.values())
    assert (weather["d2m"] < weather["t2m"]).all()
    for name in ("tp", "ssrd", "cape"):
        assert weather[name].min() == 0
        assert weather[name].max() > 0
    for name in ("tcc", "lcc"):
        assert 0 <= weather[name].min() <= weather[name].max() <= 1
    assert (weather["lcc"] <= weather["tcc"]).all()
    speed = np.hypot(weather["u10"], weather["v10"])
    assert (weather["i10fg"] > speed).all()
    assert (weather["fg10"] > weather["i10fg"]).all()
    assert (weather["blh"] > 10).all()
    assert (weather["strd"] > 3600 * 100).all()
    swvl1 = weather["swvl1"]
    assert 0.1 <= swvl1[:, LAND].min() <= swvl1.max() <= 0.5
    assert (swvl1[:, ~LAND] == 0).all()


def test_values_are_those_of_a_british_winter(weather: dict[str, np.ndarray]) -> None:
    plausible = {"t2m": (276, 282, 6), "msl": (100_500, 102_000, 1500), "tcwv": (8, 20, 8), "tcc": (0.4, 0.8, 0.5)}
    for name, (low, high, spread) in plausible.items():
        assert low < weather[name].mean() < high
        assert spread / 10 < weather[name].std() < spread
    rainy = weather["tp"] > 1e-4
    assert 0.1 < rainy.mean() < 0.35
    assert weather["tp"].max() < 0.02
    assert weather["i10fg"].max() < 55
    assert weather["u10"].mean() > 1  # west wind


def test_pressure_falls_with_height_and_wind_follows_pressure(weather: dict[str, np.ndarray]) -> None:
    lower = np.log(weather["msl"] / weather["sp"])
    np.testing.assert_allclose(lower.mean(axis=0), 9.81 * HEIGHT / (287 * 279), atol=4e-4, rtol=0.03)
    west, east = weather["msl"][:, 4, 0], weather["msl"][:, 4, 4]
    assert np.corrcoef(east - west, weather["v10"][:, 4, 2])[0, 1] > 0.7  # high in the east: wind from the south
    north, south = weather["msl"][:, 2, 2], weather["msl"][:, 7, 2]
    assert np.corrcoef(south - north, weather["u10"][:, 4, 2])[0, 1] > 0.7


def test_sun_clouds_and_warmth_hang_together(weather: dict[str, np.ndarray]) -> None:
    sunshine = weather["ssrd"][:1848].reshape(77, 24, 10, 12)
    assert sunshine[:, [0, 1, 2, 3, 23]].max() == 0
    assert 11 <= sunshine.mean(axis=(0, 2, 3)).argmax() <= 13
    assert sunshine[-10:].mean() > 2 * sunshine[:10].mean()  # March is brighter than January
    by_day = weather["t2m"][:1848].reshape(77, 24, 10, 12).mean(axis=0)
    assert (by_day[15] - by_day[6])[LAND].mean() > 1.0
    assert np.abs(by_day[15] - by_day[6])[~LAND].max() < 0.6
    noon, clouds = weather["ssrd"][12::24], weather["tcc"][12::24]
    assert np.corrcoef((noon / noon.mean(axis=(1, 2), keepdims=True)).ravel(), clouds.ravel())[0, 1] < -0.6
    assert weather["tcc"][weather["tp"] > 1e-4].mean() > weather["tcc"][weather["tp"] == 0].mean() + 0.2


def test_weather_moves_east(weather: dict[str, np.ndarray]) -> None:
    pressure = weather["msl"] - weather["msl"].mean(axis=0)
    west, east = pressure[:, 5, 0], pressure[:, 5, 11]
    later = [np.corrcoef(west[: 1860 - lag], east[lag:])[0, 1] for lag in range(60)]
    assert 8 <= int(np.argmax(later)) <= 40
    assert max(later) > later[0] + 0.1


def test_a_longer_sample_begins_with_the_shorter(weather: dict[str, np.ndarray]) -> None:
    for name, field in make_weather(START, 200).items():
        np.testing.assert_allclose(field, weather[name][:200], rtol=1e-9, atol=1e-9)


def test_it_is_the_same_on_every_machine(weather: dict[str, np.ndarray]) -> None:
    """Values written down once; sums differ between machines in the last digits only."""
    found = {name: float(weather[name][700, 4, 5]) for name in EXPECTED}
    assert found == pytest.approx(EXPECTED, rel=1e-6)


def test_files_are_equal_to_the_last_bit(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        write_sample(tmp_path / name, 48)
    for file in os.listdir(tmp_path / "a"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_files_are_laid_out_as_the_real_ones(tmp_path: Path, real_era5: Callable[[str], str]) -> None:
    write_sample(tmp_path, 24)
    for step_type in ("instant", "accum"):
        name = f"data_stream-oper_stepType-{step_type}.nc"
        with (
            xr.open_dataset(Path(real_era5("cornwall_2018_05")).with_name(name)) as real,
            xr.open_dataset(tmp_path / name) as ours,
        ):
            assert set(ours.coords) == set(real.coords)
            for key in real.coords:
                assert ours[key].dims == real[key].dims
                assert ours[key].dtype == real[key].dtype
                assert ours[key].encoding.get("units") == real[key].encoding.get("units")
            assert (np.diff(ours["latitude"]) < 0).all()
            for key in set(real.data_vars) & set(ours.data_vars):
                assert ours[key].dims == real[key].dims
                assert ours[key].encoding["dtype"] == real[key].encoding["dtype"] == np.float32
                assert ours[key].attrs["units"] == real[key].attrs["units"]
                assert ours[key].attrs["GRIB_stepType"] == real[key].attrs["GRIB_stepType"] == step_type
            assert "SYNTHETIC" in ours.attrs["title"]


def test_it_is_made_once_and_says_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "new"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # that of the user may have a sample
    files = sample_files(30)
    assert [Path(file).parent.parent.parent for file in files] == [tmp_path / "new"] * 3
    assert sorted(os.listdir(Path(files[0]).parent)) == sorted(Path(file).name for file in files)  # nothing left over
    before = [os.stat(file).st_mtime_ns for file in files]
    assert sample_files(30) == files
    assert [os.stat(file).st_mtime_ns for file in files] == before
    os.unlink(files[1])
    assert sample_files(30) == files
    data = read_era5(files)
    assert "SYNTHETIC" in data.attrs["title"]
    assert set(data.data_vars) == {variable.short_name for variable in DEFAULT_VARIABLES} | {"fg10"}
    assert data.sizes == {"time": 30, "latitude": 10, "longitude": 12}


def test_a_read_only_folder_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    monkeypatch.setenv("GPVAE_DATA_DIR", str(locked))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    files = sample_files(5)
    assert files[0].startswith(str(tmp_path / "cache"))
    assert os.listdir(locked) == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"(?s)No folder to keep .*Set GPVAE_DATA_DIR"):
        sample_files(6)


def test_the_sun_is_where_it_was() -> None:
    """Equinox: the sun rises and sets at six by the sun, and its noon height is the colatitude."""
    hours = np.arange("2020-03-20T01", "2020-03-21T01", dtype="datetime64[h]")
    cosine = mean_cos_zenith(hours, np.array([0.0, 51.5, 90.0]), np.zeros(3))
    assert cosine.shape == (24, 3)
    np.testing.assert_allclose(cosine.max(axis=0), [0.99, 0.99 * np.cos(np.radians(51.5)), 0.0], atol=0.02)
    assert (cosine[:5, :2] == 0).all()
    assert (cosine[19:, :2] == 0).all()
    summer, winter = (
        mean_cos_zenith(np.array([day], "datetime64[h]"), np.array([51.5]), np.zeros(1)).item()
        for day in ("2020-06-21T12", "2020-12-21T12")
    )
    assert summer == pytest.approx(np.cos(np.radians(51.5 - 23.44)), abs=0.02)
    assert winter == pytest.approx(np.cos(np.radians(51.5 + 23.44)), abs=0.02)


def test_waves_have_unit_variance_and_the_slopes_they_should() -> None:
    waves = PlaneWaves(5, 40, (300, 900))
    hours, x, y = np.arange(3000.0), np.array([0.0, 100.0]), np.array([50.0, -20.0])
    field = waves.at(hours, x, y)
    assert field.std() == pytest.approx(1, abs=0.1)
    east, north = waves.gradient(hours[:9], x, y)
    step = 1e-3
    np.testing.assert_allclose(east, (waves.at(hours[:9], x + step, y) - field[:9]) / step, atol=1e-6)
    np.testing.assert_allclose(north, (waves.at(hours[:9], x, y + step) - field[:9]) / step, atol=1e-6)


def test_noise_is_fixed_bits() -> None:
    assert uniform(1, 3).tolist() == UNIFORM
    assert noise(3, 2000, 20).std() == pytest.approx(1, abs=0.05)
    np.testing.assert_allclose(smooth(np.ones((5, 2)), 3.0), 1)


def share_slower_than(hours: float, values: np.ndarray) -> float:
    """The share of the variance of series `[T, ...]` in periods longer than so many hours."""
    power = np.abs(np.fft.rfft(values - values.mean(0), axis=0)[1:]) ** 2
    period = len(values) / np.arange(1, len(power) + 1)
    return float(power[period > hours].sum() / power.sum())


@pytest.mark.parametrize("name", ["sp", "t2m", "d2m", "u10", "v10", "tcc", "ssrd"])
def test_weather_changes_as_slowly_as_that_of_london(name: str, weather: dict[str, np.ndarray]) -> None:
    """In the same winter: slow pressure, wind and temperature in between, clouds quick, the sun daily."""
    path = data_dir() / "era5" / "london_2020.csv.gz"
    if not path.exists():
        pytest.skip(f"no {path.name} in {path.parent}; set GPVAE_DATA_DIR")
    with gzip.open(path, "rt") as file:
        london = np.array([float(row[name]) for row in itertools.islice(csv.DictReader(file), 1860)])
    for hours in (40, 150):
        assert abs(share_slower_than(hours, weather[name]) - share_slower_than(hours, london)) < 0.25
