"""`SVGPVAE` and `SeriesGP` on a second device: every kind of model learns and predicts as on the CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gpvae.modules import SVGPVAE, SeriesGP
from gpvae.vae.keyed_noise import Draws
from tests.device.second_device import NAME
from tests.vae.learning import learn

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
SERIES, HOURS, VARIABLES = 4, 12, 2
SIZES: dict[str, Any] = {
    "num_inducing": 6,
    "num_variables": VARIABLES,
    "latent_dim": 2,
    "hidden_dim": 8,
    "num_samples": 5,
    "periods": [24.0],
}
FIELD: dict[str, Any] = {"latents": "field", "num_series": SERIES, "consolidation": "both"}
BY_LOCATION: dict[str, Any] = {"latents": "field", "location_features": 3, "static_inputs": ["height", "sun"]}
WAVES: dict[str, Any] = {"inducing": "CosineExpansion", "waves": [6.0], "horizon": 40.0}
MODELS: dict[str, dict[str, Any]] = {
    "ewc": {"consolidation": "ewc"},
    "running ewc": {"consolidation": "ewc", "ewc_running": True},
    "replay": {"consolidation": "replay"},
    "both": {"consolidation": "both"},
    "none, paper": {"consolidation": "none", "networks": "mlp", "noise": "shared", "left_out": 0.0, "periods": None},
    "kernel trained throughout": {"hyperparameters": "train_always", "consolidation": "none"},
    "trained points": {"method": "OSVGP"},
    "pivoted points of each latent": {"method": "OVC-per-dim", "power": 0.5},
    "a precision for each series": {"shared_precision": False, "consolidation": "both"},
    "one precision": {"shared_precision": True, "consolidation": "both"},
    "static inputs": {"static_inputs": ["height", "sun"]},
    "field": FIELD,
    "field by location": BY_LOCATION | {"consolidation": "both"},
    "chosen cosines": {"inducing": "ChosenCosines", "horizon": 40.0},
    "expansion": WAVES | {"consolidation": "replay"},
    "field of an expansion": FIELD | WAVES,
}


def task(number: int) -> tuple[Tensor, Tensor, Tensor]:
    """Times, values and mask; some values are missing."""
    rng = torch.Generator().manual_seed(number)
    times = number * HOURS + torch.arange(HOURS, dtype=torch.float64)
    phase = torch.arange(SERIES)[:, None, None] + torch.arange(VARIABLES)
    y = torch.sin(times[:, None] / 3 + phase) + 0.1 * torch.randn(SERIES, HOURS, VARIABLES, generator=rng)
    return times, y.float(), torch.rand(SERIES, HOURS, VARIABLES, generator=rng) > 0.1


def build(options: dict[str, Any], device: str) -> SVGPVAE:
    torch.manual_seed(0)
    module = SVGPVAE(**{"method": "CosS", **SIZES, **options})
    if module.vae.locations is not None:
        coordinates = torch.tensor([[50.0, 1.0], [50.0, 2.0], [51.0, 1.0], [51.0, 2.0]], dtype=torch.float64)
        height = torch.linspace(0, 1, SERIES)
        module.vae.locations.set(coordinates, {"height": height}, np.datetime64("2020-01-01"))
    return module.to(device)


def scored(module: SVGPVAE | SeriesGP, device: str) -> tuple[Tensor, ...]:
    """The log density of all values learnt and of the next task, and samples of these."""
    densities = []
    for number in range(3):
        batch = torch.arange(SERIES, device=device), *(part.to(device) for part in task(number))
        predictive, target = module.predictive(batch)
        densities.append(predictive.log_prob(target))
    return *densities, module.predict_step(batch, 0)["samples"]


def learnt(options: dict[str, Any], device: str) -> tuple[Tensor, ...]:
    module = build(options, device)
    for number in range(2):
        learn(module, tuple(part.to(device) for part in task(number)), steps=2)
    return scored(module, device)


def assert_same(ours: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    for here, there in zip(ours, expected, strict=True):
        assert here.device.type == NAME
        torch.testing.assert_close(here.cpu(), there, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("model", MODELS)
def test_every_model(model: str) -> None:
    assert_same(learnt(MODELS[model], NAME), learnt(MODELS[model], "cpu"))


@pytest.mark.parametrize("shared", [True, False])
def test_sites_in_files(shared: bool, tmp_path: Path) -> None:
    options = {"shared_precision": shared, "consolidation": "both"}
    assert_same(learnt(options | {"sites_folder": str(tmp_path)}, NAME), learnt(options, "cpu"))


@pytest.mark.parametrize("options", [{}, {"num_eofs": 2, "latents": "field"}], ids=["series", "field"])
def test_series_gp(options: dict[str, Any]) -> None:
    def closed_form(device: str) -> tuple[Tensor, ...]:
        module = SeriesGP(6, num_variables=VARIABLES, periods=[6.0], horizon=40.0, num_samples=5, **options).to(device)
        for number in range(2):
            module.begin_task(*(part.to(device) for part in task(number)))
            module.end_task()
        return scored(module, device)

    assert_same(closed_form(NAME), closed_form("cpu"))


def test_a_tensor_made_on_the_cpu_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant: the random numbers of a step stay on the host."""
    plain = Draws.normal
    monkeypatch.setattr(Draws, "normal", lambda *args, **options: plain(*args, **options).cpu())
    with pytest.raises(RuntimeError, match="same device"):
        learnt(MODELS["ewc"], NAME)
