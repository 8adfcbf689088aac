"""Through the command: any format gives the same scores and predictions, and any units come out as they went in."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tests.cli.program import run_here, write_config
from tests.datamodules.era5.formats import FORMATS
from tests.datamodules.era5.written import weather

pytestmark = pytest.mark.filterwarnings("ignore")  # what the program says of small tasks is checked elsewhere

MODEL: dict[str, Any] = {"class_path": "SVGPVAE", "num_inducing": 8, "latent_dim": 3}
DATA: dict[str, Any] = {
    "class_path": "ERA5",
    "source": "files",
    "variables": ["t2m", "tp"],
    "points": "all",
    "num_tasks": 2,
    "hours_per_task": 24,
    "epochs_per_task": 2,
}


def run(folder: Path, **options: Any) -> tuple[pd.DataFrame, xr.Dataset]:
    """Scores and predictions of a small model."""
    folder.mkdir(exist_ok=True)
    write_config(folder, model=MODEL, data={**DATA, **options})
    run_here(folder, "fit", "-c", "small.yaml")
    run_here(folder, "predict", "-c", "small.yaml", "--ckpt_path", "last")
    results = folder / "runs" / "small" / "seed_3"
    with xr.open_dataset(results / "predictions.nc") as data:
        return pd.read_csv(results / "task_metrics.csv"), data.load()


@pytest.mark.parametrize("how", ["Zarr 3", "Zarr by URL", "GRIB"])
def test_scores_and_predictions_of_every_format(how: str, tmp_path: Path) -> None:
    data = weather(48)
    (tmp_path / "other").mkdir()
    scores, predicted = run(tmp_path / "here", paths=FORMATS[how](data, tmp_path))
    expected, reference = run(tmp_path / "other", paths=FORMATS["netCDF"](data, tmp_path))
    tolerance = 1e-3 if how == "GRIB" else 0.0
    measured = [column for column in expected.columns if pd.api.types.is_numeric_dtype(expected[column])]
    measured = [column for column in measured if "seconds" not in column and "time" not in column]
    np.testing.assert_allclose(scores[measured], expected[measured], rtol=tolerance, atol=tolerance)
    xr.testing.assert_allclose(predicted, reference, rtol=tolerance, atol=tolerance)
    for name in ("time", "latitude", "longitude"):
        np.testing.assert_array_equal(predicted[name], reference[name])
    assert (predicted["t2m"] - data["t2m"]).sizes == predicted["t2m"].sizes  # every cell and hour is in both


def test_predictions_in_the_units_of_the_file(tmp_path: Path) -> None:
    data = weather(48)
    other = data.copy(deep=True)
    other["t2m"] = (data["t2m"].astype(float) - 273.15).assign_attrs(units="degC")
    other["tp"] = (data["tp"].astype(float) * 1000).assign_attrs(units="mm")
    _, kelvin = run(tmp_path / "era5", paths=FORMATS["netCDF"](data, tmp_path))
    _, celsius = run(tmp_path / "own", paths=FORMATS["netCDF"](other, tmp_path))
    assert (celsius["t2m"].attrs["units"], celsius["tp"].attrs["units"]) == ("degC", "mm")
    assert celsius["t2m"].attrs["standard_name"] == "air_temperature"
    for part in ("", "_quantiles"):
        np.testing.assert_allclose(celsius[f"t2m{part}"], kelvin[f"t2m{part}"] - 273.15, atol=1e-2)
        np.testing.assert_allclose(celsius[f"tp{part}"], kelvin[f"tp{part}"] * 1000, atol=1e-3)
    np.testing.assert_allclose(celsius["t2m_std"], kelvin["t2m_std"], rtol=1e-3)
    np.testing.assert_allclose(celsius["tp_std"], 1000 * kelvin["tp_std"], rtol=1e-3)
