"""Fields whose networks take the location: from a config to scores at locations never seen, figures and predictions."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tests.cli.program import refused, run_here, write_config

MODEL: dict[str, Any] = {
    "class_path": "SVGPVAE",
    "num_inducing": 12,
    "latents": "field",
    "location_features": 6,
    "static_inputs": ["land", "sun"],
    "latent_dim": 3,
    "hidden_dim": 8,
    "num_samples": 20,
    "consolidation": "both",
}
DATA: dict[str, Any] = {
    "class_path": "ERA5",
    "variables": ["t2m", "msl", "ssrd", "swvl1"],  # swvl1 is missing over the sea
    "points": 14,
    "num_tasks": 2,
    "hours_per_task": 24,
    "epochs_per_task": 2,
    "batch_size": 5,
    "test_locations": 3,
}
RUN = Path("runs/small/seed_3")


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / RUN / "location_metrics.csv").open() as file:
        return list(csv.DictReader(file))


def test_fit_resume_and_predict_with_held_out_locations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_config(tmp_path, model=MODEL, data=DATA, figures={"dpi": 40})
    run_here(tmp_path, "fit", "-c", "small.yaml", "--data.stop_after", "1")
    run_here(tmp_path, "fit", "-c", "small.yaml", "--ckpt_path", "last")
    scores = rows(tmp_path)
    assert {row["method"] for row in scores} == {"model", "nearest", "inverse_distance"}
    assert {row["task"] for row in scores} == {"1", "2", ""}
    assert {row["metric"] for row in scores} == {"nlpd", "rmse", "crps", "coverage"}
    assert {"", "t2m", "ssrd"} <= {row["variable"] for row in scores}
    assert all(np.isfinite(float(row["value"])) for row in scores)
    assert "At 3 locations never seen" in capsys.readouterr().out
    assert list((tmp_path / RUN / "figures").glob("reconstructions_*.png"))
    run_here(tmp_path, "predict", "-c", "small.yaml")
    with xr.open_dataset(tmp_path / RUN / "predictions.nc") as predictions:
        assert predictions.sizes["location"] == 14  # those never seen too
        assert bool(np.isfinite(predictions["t2m"]).all())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"location_features": None, "static_inputs": None}, "only SVGPVAE with latents: field and location_features"),
        ({"static_inputs": ["height"]}, "static_inputs has height, which the data do not have"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_learnt(
    model: dict[str, Any], message: str, tmp_path: Path
) -> None:
    write_config(tmp_path, model=MODEL | model, data=DATA)
    assert message in refused(tmp_path, "fit", "-c", "small.yaml")
    assert not (tmp_path / RUN / "checkpoints").exists()
