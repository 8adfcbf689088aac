"""Predictions at locations that were not in the data, by a field that takes the location as an input."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import gpvae
from gpvae.saved import SavedSeriesRun
from tests.cli.program import run_here, write_config
from tests.datamodules.era5.test_held_out import mountains

MODEL: dict[str, Any] = {
    "class_path": "SVGPVAE",
    "num_inducing": 12,
    "latents": "field",
    "location_features": 12,
    "static_inputs": ["height"],
    "latent_dim": 3,
    "hidden_dim": 8,
    "consolidation": "replay",
    "num_samples": 50,
}
TIMES = ["2020-01-01T05:00", "2020-01-02T07:30"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on mountains from which two grid cells are missing."""
    folder = tmp_path_factory.mktemp("mountains")
    mountains().isel(latitude=slice(0, 4)).to_netcdf(folder / "0.nc")
    data = {"class_path": "ERA5", "source": "files", "paths": "0.nc", "points": None}
    write_config(folder, model=MODEL, data=data | {"num_tasks": 2, "hours_per_task": 24, "epochs_per_task": 40})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_here(folder, "fit", "-c", "small.yaml")
    return folder / "runs" / "small" / "seed_3"


@pytest.fixture
def run(folder: Path) -> SavedSeriesRun:
    loaded = gpvae.load(folder)
    assert isinstance(loaded, SavedSeriesRun)
    return loaded


def never_seen() -> pd.DataFrame:
    """The southern row of the grid, with heights."""
    south = mountains().isel(latitude=4, valid_time=0)
    height = south["z"].values / 9.80665
    return pd.DataFrame({"latitude": float(south["latitude"]), "longitude": south["longitude"], "height": height})


def test_a_table_of_locations_never_seen(run: SavedSeriesRun) -> None:
    predicted = run.predict(TIMES, never_seen())
    np.testing.assert_allclose(predicted["longitude"].values.ravel(), never_seen()["longitude"])
    truth = mountains().isel(latitude=4).sel(valid_time=TIMES[:1])["sp"].values.ravel()
    pressure = predicted["sp"].sel(time=TIMES[0]).values.ravel()
    assert np.abs(pressure - truth).max() < 0.15 * np.ptp(truth)  # the mean follows the height
    everywhere = run.predict(TIMES)["t2m_std"]
    assert float(predicted["t2m_std"].mean()) > float(everywhere.mean())


def test_locations_that_were_learnt_are_predicted_as_such(run: SavedSeriesRun) -> None:
    known = run.locations.iloc[[3, 0]].assign(height=0.0)
    both = run.predict(TIMES, pd.concat([known, never_seen().iloc[:1]]))
    xr.testing.assert_allclose(
        both["t2m"].isel(location=[0, 1]).drop_vars("location", errors="ignore"),
        run.predict(TIMES, [3, 0])["t2m"].drop_vars("location", errors="ignore"),
    )


def test_predicting_elsewhere_leaves_the_run_as_it_was(run: SavedSeriesRun) -> None:
    before = {name: value.clone() for name, value in run.module.state_dict().items()}
    run.predict(TIMES, never_seen())
    after = run.module.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert len(run.locations) == 24


def test_an_input_that_is_missing_is_named(run: SavedSeriesRun) -> None:
    with pytest.raises(ValueError, match=r"static_inputs has height, .*give a table with columns latitude, longitude"):
        run.predict(TIMES, [[59.9, 7.3]])
    assert run.predict(TIMES, [[62.0, 6.0]])["t2m"].shape == run.predict(TIMES, [0])["t2m"].shape
