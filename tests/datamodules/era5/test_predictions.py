"""`gpvae predict` on ERA5: a file in physical units that any program for weather can open."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

from callbacks.predictions.cf_file import find_grid
from callbacks.predictions.netcdf import summarise_samples, write_file
from datamodules.era5 import ERA5, Coordinates
from datamodules.era5.synthetic.britain import LATITUDES, LONGITUDES
from tests.cli.program import refused, run_here, write_config
from tests.datamodules.era5.written import weather, write_new

pytestmark = pytest.mark.filterwarnings("ignore")  # what the program says of small tasks is checked elsewhere

DATA: dict[str, Any] = {
    "class_path": "ERA5",
    "points": 3,
    "land_only": True,
    "num_tasks": 2,
    "hours_per_task": 24,
    "epochs_per_task": 2,
}
MODEL: dict[str, Any] = {"class_path": "SVGPVAE", "num_inducing": 8, "latent_dim": 3}
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]


@dataclass
class Trained:
    """A folder where a small model was trained, and its data."""

    folder: Path
    stream: ERA5

    def predict(self, *words: str) -> xr.Dataset:
        """What `gpvae predict` writes."""
        run_here(self.folder, "predict", "-c", "small.yaml", "--ckpt_path", "last", *words)
        with xr.open_dataset(self.folder / "runs" / "small" / "seed_3" / "predictions.nc") as data:
            return data.load()

    def held_out(self) -> xr.DataArray:
        """The truth at the hours that were held out."""
        parts = [next(iter(self.stream.test_loader(task, 0, 1))) for task in range(self.stream.num_tasks)]
        y, mask, hours = (
            torch.cat([p.y for p in parts], 1),
            torch.cat([p.mask for p in parts], 1),
            [p.times for p in parts],
        )
        truth = self.stream.to_physical(y, parts[0].series).where(mask, torch.nan)
        times = self.stream.coordinates.origin + (3600 * torch.cat(hours).numpy()).astype("timedelta64[s]")
        names = [variable.short_name for variable in self.stream.variables]
        coords = {"time": times.astype("datetime64[ns]"), "variable": names}
        return xr.DataArray(truth.numpy(), coords, dims=("location", "time", "variable"))


def train(folder: Path, model: dict[str, Any], data: dict[str, Any]) -> Trained:
    write_config(folder, model=model, data=data)
    run_here(folder, "fit", "-c", "small.yaml")
    stream = ERA5(**{key: value for key, value in data.items() if key != "class_path"}, seed=3)
    stream.prepare_data()
    stream.setup()
    return Trained(folder, stream)


@pytest.fixture(scope="module", autouse=True)
def _kept(kept_sample: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPVAE_DATA_DIR", str(kept_sample))
        yield


@pytest.fixture(scope="module")
def trained(_kept: None, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(tmp_path_factory.mktemp("trained"), MODEL, DATA)


@pytest.fixture(scope="module")
def predicted(trained: Trained) -> xr.Dataset:
    return trained.predict()


def test_times_and_places(trained: Trained, predicted: xr.Dataset) -> None:
    truth = trained.held_out()
    assert dict(predicted.sizes) == {"time": 10, "location": 3, "quantile": 5}
    assert predicted["time"].values.tolist() == truth["time"].values.tolist()
    assert predicted["time"].dtype == "datetime64[ns]"
    latitude, longitude, _ = trained.stream.coordinates
    assert predicted["latitude"].values.tolist() == latitude.tolist()
    assert predicted["longitude"].values.tolist() == longitude.tolist()
    assert predicted["latitude"].dims == predicted["longitude"].dims == ("location",)
    assert predicted["quantile"].values.tolist() == QUANTILES
    assert predicted["t2m"].dims == predicted["t2m_std"].dims == ("location", "time")
    assert predicted["t2m_quantiles"].dims == ("quantile", "location", "time")


def test_what_the_file_says(trained: Trained, predicted: xr.Dataset) -> None:
    about = predicted.attrs
    assert about["Conventions"] == "CF-1.8"
    assert "SYNTHETIC" in about["title"]
    assert "nothing here was measured" in about["synthetic"]
    assert "SVGPVAE(method=OHSVGP" in about["source"]
    assert "after 2 of 2 tasks" in about["source"]
    assert "gpvae 0." in about["history"]
    assert "institution" not in about
    names = [variable.short_name for variable in trained.stream.variables]
    assert list(predicted.data_vars) == [name + part for name in names for part in ("", "_std", "_quantiles")]
    assert predicted["t2m"].attrs == {
        "long_name": "2m temperature, predictive mean",
        "units": "K",
        "standard_name": "air_temperature",
        "ancillary_variables": "t2m_std t2m_quantiles",
    }
    assert predicted["t2m_std"].attrs["standard_name"] == "air_temperature standard_error"
    assert predicted["tp"].attrs["comment"] == "sum over the hour before the time"
    assert predicted["tcc"].attrs["units"] == "1"
    assert predicted["swvl1"].attrs["comment"] == "defined over land only"
    assert predicted["latitude"].attrs["units"] == "degrees_north"
    assert predicted["time"].encoding["units"] == "seconds since 2020-01-01 00:00:00"


def test_numbers(trained: Trained, predicted: xr.Dataset) -> None:
    for variable in trained.stream.variables:
        name, limits = variable.short_name, variable.transform
        mean, deviation, quantiles = (predicted[name + part].values for part in ("", "_std", "_quantiles"))
        assert mean.dtype == deviation.dtype == quantiles.dtype == np.float32
        assert np.isfinite([mean, deviation, *quantiles]).all()
        assert (deviation > 0).all()
        assert (np.diff(quantiles, axis=0) >= 0).all()
        if limits.curve == "linear":
            slack = 1e-6 * abs(mean)
            assert ((quantiles[0] <= mean + slack) & (mean - slack <= quantiles[-1])).all(), name
        if limits.low is not None:
            assert (quantiles * limits.factor >= limits.low * (1 - 1e-6)).all()
        if limits.high is not None:
            assert (quantiles * limits.factor <= limits.high * (1 + 1e-6)).all()
    assert (predicted["tp"] >= 0).all()
    plausible = {
        "t2m": (255, 305),
        "msl": (92_000, 108_000),
        "sp": (80_000, 108_000),
        "u10": (-40, 40),
        "tp": (0, 0.05),
    }
    for name, (least, most) in plausible.items():
        assert least <= predicted[name].min() <= predicted[name].max() <= most, name


def test_between_hours(trained: Trained, predicted: xr.Dataset) -> None:
    between = trained.predict("--data.predict_every", "0.5")
    expected = np.datetime64("2020-01-01") + np.arange(95) * np.timedelta64(30, "m")
    assert np.array_equal(between["time"].values, expected)
    assert all(np.isfinite(between[name]).all() for name in between.data_vars)
    common = between.sel(time=predicted["time"])
    apart = abs(common["t2m"] - predicted["t2m"]) / predicted["t2m_std"]
    assert apart.max() < 1  # other samples of the same distribution


def test_up_to_the_last_task_learnt(trained: Trained) -> None:
    first = trained.predict("--data.predict_every", "0.333333", "--data.stop_after", "1")
    assert np.array_equal(first["time"].values, np.datetime64("2020-01-01") + np.arange(70) * np.timedelta64(20, "m"))


def test_half_a_file_is_none(trained: Trained, predicted: xr.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datamodules.era5.times_to_predict.PREDICTED_VALUES", 1)  # a series at a time
    folder = trained.folder / "runs" / "small" / "seed_3"
    before = (folder / "predictions.nc").read_bytes()
    said = refused(trained.folder, "predict", "-c", "small.yaml", "--trainer.limit_predict_batches", "0.4")
    assert "20 of 30 predictions are missing: predict without trainer.limit_predict_batches" in said
    assert (folder / "predictions.nc").read_bytes() == before
    assert not list(folder.glob(".predictions*"))


def test_a_whole_grid_is_written_as_one(tmp_path: Path) -> None:
    few = {**DATA, "points": None, "land_only": False, "variables": ["t2m", "tp"]}
    data = train(tmp_path, MODEL, few).predict()
    assert data["t2m"].dims == ("time", "latitude", "longitude")
    assert data["tp_quantiles"].dims == ("quantile", "time", "latitude", "longitude")
    assert data["latitude"].values.tolist() == LATITUDES.tolist()
    assert data["longitude"].values.tolist() == LONGITUDES.tolist()
    # Each cell has its own place: warm in the south, and never far from what was held out there.
    assert data["t2m"].sel(latitude=50).mean() > data["t2m"].sel(latitude=59).mean()


def test_which_places_are_a_grid() -> None:
    def grid(*places: tuple[float, float]) -> Any:  # noqa: ANN401
        latitude, longitude = np.array(places).T
        return find_grid(Coordinates(latitude, longitude, np.datetime64("2020-01-01")))

    rows, columns = grid((52, 0), (52, 1), (52, 2), (51, 0), (51, 1), (51, 2))
    assert (rows.tolist(), columns.tolist()) == ([52, 51], [0, 1, 2])
    assert grid((52, 0)) is None
    assert grid((52, 0), (52, 1)) is None
    assert grid((52, 0), (51, 0)) is None
    assert grid((52, 0), (52, 1), (51, 0)) is None
    assert grid((52, 0), (52, 1), (51, 0), (51, 2)) is None
    assert grid((52, 0), (52, 1), (52, 2), (51, 0)) is None


def test_summary_of_samples() -> None:
    samples = np.random.default_rng(0).normal(size=(4000, 2, 3, 1)) * 2 + 5
    mean, deviation, *quantiles = summarise_samples(samples)[0]
    np.testing.assert_allclose(mean, 5, atol=0.2)
    np.testing.assert_allclose(deviation, 2, atol=0.1)
    for found, exact in zip(quantiles, (-1.645, -0.674, 0, 0.674, 1.645), strict=True):
        np.testing.assert_allclose(found, 5 + 2 * exact, atol=0.25)


def test_few_samples_cover_what_they_should() -> None:
    rng = np.random.default_rng(0)
    _, _, low, _, _, _, high = summarise_samples(rng.normal(size=(100, 1, 20_000, 1)))[0]
    truth = rng.normal(size=20_000)
    assert ((low < truth) & (truth < high)).mean() == pytest.approx(0.9, abs=0.007)


def test_processes_put_their_parts_together(trained: Trained, tmp_path: Path) -> None:
    stream, num_times = trained.stream, 4
    values = np.arange(17 * 7 * 3 * num_times, dtype=np.float32).reshape(17, 7, 3, num_times)
    seconds = 1800 * np.arange(num_times)
    for rank, series in enumerate(([0, 2], [1])):
        for loader, when in enumerate((slice(2, 4), slice(0, 2))):
            np.save(tmp_path / f"{rank}_{loader}_0.npy", values[:, :, series, when])
            np.savez(tmp_path / f"{rank}_{loader}_0.npz", series=series, seconds=seconds[when])
    assert write_file(tmp_path / "all.nc", tmp_path, stream, {}) == num_times
    with xr.open_dataset(tmp_path / "all.nc") as data:
        assert np.array_equal(data["d2m"], values[1, 0])
        assert np.array_equal(data["d2m_quantiles"], values[1, 2:])
    (tmp_path / "1_0_0.npy").unlink()
    with pytest.raises(RuntimeError, match="2 of 12 predictions are missing"):
        write_file(tmp_path / "all.nc", tmp_path, stream, {})
    values[3, 1] = np.nan
    np.save(tmp_path / "1_0_0.npy", values[:, :, [1], 2:4])
    with pytest.raises(FloatingPointError, match=r"predictions of v10 .* are not finite"):
        write_file(tmp_path / "all.nc", tmp_path, stream, {})


def test_batches_are_small(trained: Trained) -> None:
    fine = ERA5(**{key: value for key, value in DATA.items() if key != "class_path"}, predict_every=1 / 60)
    fine.setup()
    loaders = fine.predict_dataloader()
    batches = [batch for loader in loaders for batch in loader]
    assert max(batch.y.numel() for batch in batches) <= 2**16
    assert not any(batch.mask.any() for batch in batches)
    assert sum(batch.y.numel() for batch in batches) == 3 * (47 * 60 + 1) * 17
    times = torch.cat([next(iter(loader)).times for loader in loaders])
    assert torch.equal((60 * times).round(), torch.arange(47 * 60 + 1.0, dtype=torch.float64))


@pytest.mark.parametrize("wrong", [0.0, -1.0, 1e-5, float("nan"), float("inf")])
def test_steps_that_cannot_be(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"predict_every is .*: it must be a number of hours, such as 0.5"):
        ERA5(predict_every=wrong)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (lambda data: data.assign(t2m=data["t2m"] + 5), "values of the first task differ"),
        (lambda data: data.assign_coords(latitude=data["latitude"] - 30), "places differ"),
        (lambda data: data.isel(longitude=slice(2)), "places and values of the first task differ"),
        (lambda data: data.rename(sp="msl"), "variables and values of the first task differ"),
    ],
    ids=["values", "other places", "fewer places", "variables"],
)
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_checkpoint_is_of_the_files_it_was_made_with(
    command: str, changed: Callable[[xr.Dataset], xr.Dataset], what: str, tmp_path: Path
) -> None:
    """A file under the same name with other contents would give the sites of one place to another."""
    data = weather()
    options = {"source": "files", "paths": ["a.nc"], "points": None, "hours_per_task": 20, "epochs_per_task": 1}
    write_config(tmp_path, model=MODEL, data={"class_path": "ERA5", "num_tasks": 3, **options})
    write_new(data, tmp_path / "a.nc")
    run_here(tmp_path, "fit", "-c", "small.yaml", "--data.stop_after", "1")
    write_new(changed(data), tmp_path / "a.nc")
    said = refused(tmp_path, command, "-c", "small.yaml", "--ckpt_path", "last")
    assert f"not those that the checkpoint was made with: {what}" in said
    write_new(data.assign(t2m=data["t2m"] + (data["time"] > data["time"][40])), tmp_path / "a.nc")  # the last task's
    run_here(tmp_path, command, "-c", "small.yaml", "--ckpt_path", "last")
