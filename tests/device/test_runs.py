"""Runs on a second device: scores, figures, predictions and checkpoints of a trainer, and a change of the device."""

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray as xr

from callbacks import NetCDFPredictions, TaskFigures, TaskReport
from datamodules.era5 import ERA5
from gpvae.modules import SVGPVAE, ContinualModule, SeriesGP
from tests.device.learning import assert_same, learn, trainer
from tests.device.second_device import NAME

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec"),
    pytest.mark.filterwarnings("ignore:.*infer the batch indices"),
]
VAE: dict[str, Any] = {"num_inducing": 8, "latent_dim": 3, "hidden_dim": 8, "num_samples": 10, "consolidation": "both"}
MODELS: dict[str, dict[str, Any]] = {
    "series": VAE,
    "field by location": VAE | {"latents": "field", "location_features": 3, "static_inputs": ["sun"]},
}


def data(**options: Any) -> ERA5:
    sizes: dict[str, Any] = {"points": 3, "variables": ["t2m", "ssrd"], "num_tasks": 2, "hours_per_task": 24}
    return ERA5(**sizes, epochs_per_task=2, **options)


def build(model: str) -> ContinualModule:
    torch.manual_seed(0)
    return SeriesGP(8, periods=[24.0]) if model == "SeriesGP" else SVGPVAE("CosS", **MODELS[model])


@pytest.mark.parametrize("model", [*MODELS, "SeriesGP"])
def test_scores_figures_and_predictions(model: str, tmp_path: Path) -> None:
    found = {}
    for device in ("cpu", NAME):
        folder, module, stream = tmp_path / device, build(model), data()
        figures = TaskFigures(device == NAME, every_n_tasks=2, dpi=30)
        callbacks = [TaskReport(print_table=False), figures, NetCDFPredictions(folder)]
        run = trainer(device, stream, *callbacks, default_root_dir=folder)
        run.fit(module, datamodule=stream)
        run.predict(module, datamodule=stream)
        with (folder / "task_metrics.csv").open() as file:
            scores = [float(row["value"]) for row in csv.DictReader(file)]
        with xr.open_dataset(folder / "predictions.nc") as predictions:
            found[device] = torch.tensor(scores), torch.from_numpy(predictions["t2m"].values)
    assert len(list((tmp_path / NAME / "figures").glob("*.png"))) > 5
    for ours, expected in zip(found[NAME], found["cpu"], strict=True):
        torch.testing.assert_close(ours, expected, rtol=2e-3, atol=2e-3, equal_nan=True)


@pytest.mark.parametrize(("start", "end"), [(NAME, "cpu"), ("cpu", NAME)])
def test_a_run_resumes_on_another_device(start: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "task_1.ckpt"
    first = trainer(start, stream := data(stop_after=1))
    first.fit(build("series"), datamodule=stream)
    first.save_checkpoint(path)
    resumed = learn(build("series"), data(), end, resume=path)
    assert_same(resumed, learn(build("series"), data(), "cpu"), 2e-3)
