"""Predictions carry the coordinates of the files bit for bit, so that xarray matches them with the truth."""

from collections.abc import Callable
from glob import glob
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from callbacks.predictions.netcdf import QUANTILES, write_file
from datamodules.era5 import ERA5
from tests.datamodules.era5.streams import made
from tests.datamodules.era5.written import CELL, weather

LATITUDES, LONGITUDES = np.array([52.1, 51.8, 51.5]), np.array([-0.2, -0.1, 0.1, 0.2])


def grid(latitudes: np.ndarray = LATITUDES, longitudes: np.ndarray = LONGITUDES) -> xr.Dataset:
    """Weather whose temperature tells where it is."""
    data = weather(24).assign_coords(latitude=latitudes, longitude=longitudes)
    where = 280 + np.arange(3)[:, None] + np.arange(4) / 10
    return data.assign(t2m=data["t2m"].copy(data=np.broadcast_to(where, data["t2m"].shape).astype(np.float32)))


def single(data: xr.Dataset) -> xr.Dataset:
    return data.assign_coords({name: data[name].astype(np.float32) for name in CELL})


def scattered(data: xr.Dataset, dimension: str) -> xr.Dataset:
    rows, columns = xr.DataArray([0, 2, 1], dims=dimension), xr.DataArray([3, 0, 1], dims=dimension)
    return data.isel(latitude=rows, longitude=columns)


FILES: dict[str, Callable[[], xr.Dataset]] = {
    "float64": grid,
    "float32": lambda: single(grid()),
    "from south to north": lambda: single(grid().isel(latitude=slice(None, None, -1))),
    "0 to 360": lambda: single(grid(longitudes=np.array([12.9, 13.0, 13.1, 200.3]))),
    "0 to 360, around Greenwich": lambda: single(grid(longitudes=LONGITUDES % 360)),
    "0 to 360, sorted": lambda: single(grid(longitudes=LONGITUDES % 360).sortby("longitude")),
    "whole degrees": lambda: grid(np.array([52, 51, 50]), np.array([0, 1, 2, 3])),
    "scattered": lambda: single(scattered(grid(longitudes=LONGITUDES % 360), "location")),
    "one location": lambda: single(grid()).isel(latitude=0, longitude=1),
}


def predict_truth(stream: ERA5, truth: xr.Dataset, folder: Path) -> xr.Dataset:
    """The file that a model would write which predicts t2m exactly."""
    latitude, longitude, origin = stream.coordinates
    turned = (truth["longitude"].values.astype(np.float64) + 180) % 360 - 180
    values = truth["t2m"].isel(time=0).assign_coords(longitude=(truth["longitude"].dims, turned))
    if set(CELL) <= set(values.dims):
        places = {"latitude": xr.DataArray(latitude, dims="s"), "longitude": xr.DataArray(longitude, dims="s")}
        values = values.sortby("longitude").sel(places, method="nearest")
    seconds = ((truth["time"].values - origin) / np.timedelta64(1, "s")).astype(int)
    parts = np.broadcast_to(np.atleast_1d(values.values)[:, None], (1, 2 + len(QUANTILES), len(latitude), len(seconds)))
    np.save(folder / "0_0_0.npy", parts)
    np.savez(folder / "0_0_0.npz", series=np.arange(len(latitude)), seconds=seconds)
    write_file(folder / "predictions.nc", folder, stream, {})
    with xr.open_dataset(folder / "predictions.nc") as data:
        return data.load()


@pytest.mark.parametrize("kind", FILES)
def test_prediction_minus_truth_has_all_cells(kind: str, tmp_path: Path) -> None:
    truth = FILES[kind]()[["t2m"]]
    truth.to_netcdf(tmp_path / "truth.nc")
    stream = made(source="files", paths=str(tmp_path / "truth.nc"), points=None, num_tasks=1, hours_per_task=24)
    predicted = predict_truth(stream, truth, tmp_path)
    for name in CELL:
        assert predicted[name].dtype == truth[name].dtype
        np.testing.assert_array_equal(np.unique(predicted[name]), np.unique(truth[name]))
    difference = predicted["t2m"] - truth["t2m"]
    assert difference.size == truth["t2m"].size
    assert (difference == 0).all()
    assert set(CELL) <= set(difference.coords) or kind == "one location"


def test_axes_are_monotonic(tmp_path: Path) -> None:
    truth = grid(longitudes=LONGITUDES % 360)[["t2m"]]
    truth.to_netcdf(tmp_path / "truth.nc")
    stream = made(source="files", paths=str(tmp_path / "truth.nc"), points=None, num_tasks=1, hours_per_task=24)
    predicted = predict_truth(stream, truth, tmp_path)
    assert predicted["t2m"].dims == ("time", *CELL)
    assert predicted.indexes["longitude"].is_monotonic_increasing
    places = stream.identity()["places"].numpy()  # of checkpoints: as before
    np.testing.assert_array_equal(places, np.stack([LATITUDES.repeat(4), np.tile(LONGITUDES, 3)]))


def test_real_files(real_era5: Callable[[str], str], tmp_path: Path) -> None:
    with xr.open_dataset(sorted(glob(real_era5("finse_2018")))[0]) as file:
        truth = file[["t2m"]].isel(time=slice(0, 24)).load()
    stream = made(source="files", paths=real_era5("finse_2018"), variables=["t2m"], points=None, num_tasks=1)
    predicted = predict_truth(stream, truth, tmp_path)
    assert (predicted["t2m"] - truth["t2m"]).size == truth["t2m"].size
    assert all(predicted[name].dtype == truth[name].dtype for name in CELL)
