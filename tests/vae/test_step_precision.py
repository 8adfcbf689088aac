"""Steps in float32 lose nothing that matters against steps in float64, and say so if they do."""

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

from gpvae.modules import SVGPVAE
from gpvae.vae import step_precision
from gpvae.vae import task as task_module
from gpvae.vae.step_precision import PrecisionWarning
from tests.vae.learning import Data, learn

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
SERIES, HOURS, VARIABLES = 4, 24, 3
CASES: dict[str, dict[str, Any]] = {
    "ewc": {"consolidation": "ewc"},
    "replay": {"consolidation": "replay"},
    "both, a precision each": {"consolidation": "both", "shared_precision": False},
    "paper": {"consolidation": "ewc", "networks": "mlp", "noise": "shared", "left_out": 0.0, "horizon": 0.0},
    "many variables for few hours": {"num_inducing": 40, "consolidation": "replay", "horizon": 0.0},
    "field": {"latents": "field", "num_series": SERIES, "consolidation": "both"},
    "expansion": {"inducing": "CosineExpansion", "waves": [6.0], "horizon": 100.0, "consolidation": "replay"},
    "outliers": {"outliers": 30.0},
    "targets of another scale": {"scale": 10.0, "steps": 30},
    "targets without noise": {"noise_level": 0.0, "steps": 60},
    "long stream": {"num_tasks": 25, "consolidation": "both", "steps": 3},
}


def task(number: int, scale: float = 1.0, noise_level: float = 0.1, outliers: float = 1.0) -> Data:
    rng = torch.Generator().manual_seed(number)
    times = number * HOURS + torch.arange(HOURS, dtype=torch.float64)
    phase = torch.arange(SERIES)[:, None, None] + torch.arange(VARIABLES)
    y = torch.sin(times[:, None] / 3 + phase) + noise_level * torch.randn(SERIES, HOURS, VARIABLES, generator=rng)
    y[torch.rand(y.shape, generator=rng) < 0.02] *= outliers
    return times, (scale * y).float(), torch.ones(SERIES, HOURS, VARIABLES, dtype=torch.bool)


def build(**options: Any) -> SVGPVAE:
    torch.manual_seed(0)
    sizes = {"num_inducing": 12, "num_variables": VARIABLES, "latent_dim": 3, "hidden_dim": 8, "num_samples": 50}
    return SVGPVAE("CosS", **(sizes | options))


def nlpd(precision: str, *, num_tasks: int = 4, steps: int = 15, device: str = "cpu", **options: Any) -> Tensor:
    """The negative log predictive density of the values of each task after the last."""
    of_data = {name: options.pop(name) for name in ("scale", "noise_level", "outliers") if name in options}
    module = build(step_precision=precision, **options).to(device)
    tasks = [task(number, **of_data) for number in range(num_tasks)]
    for data in tasks:
        learn(module, data, steps=steps)
    found = []
    for data in tasks:
        predictive, y = module.predictive((torch.arange(SERIES), *data))
        found.append(-predictive.log_prob(y).mean())
    return torch.stack(found)


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_double_precision(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        single, double = (nlpd(precision, **CASES[case]) for precision in ("float32", "float64"))
    assert float((single - double).abs().max()) < 0.002


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e8])
@pytest.mark.parametrize("networks", ["mlp", "residual"])
def test_targets_of_a_large_scale_have_steps_in_double_precision(networks: str, scale: float) -> None:
    module = build(consolidation="none", networks=networks)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        for number in range(3):
            learn(module, task(number, scale=scale))
    module.begin_task(*task(3, scale=scale))
    assert module._task is not None
    assert module._task.dtype == torch.float64


def test_all_processes_take_steps_in_the_same_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    module = build(hyperparameters="fixed")
    monkeypatch.setattr(task_module, "sum_over_processes", lambda value: value + 1)  # another process has large values
    module.begin_task(*task(0))
    assert module._task is not None
    assert module._task.dtype == torch.float64


def test_a_scale_of_the_targets_that_needs_double_precision_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_module, "MAX_VALUE", 1e5)
    module = build(consolidation="none", networks="mlp")
    learn(module, task(0, scale=1e4))
    with pytest.warns(PrecisionWarning, match="the steps of task 2"):
        learn(module, task(1, scale=1e4))


def test_a_task_whose_steps_were_not_precise_enough_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = build(hyperparameters="fixed")
    monkeypatch.setattr(step_precision, "MAX_SHIFT", 1e-12)
    with pytest.warns(PrecisionWarning, match=r"the steps of task 1 were taken in float32.*step_precision: float64"):
        learn(module, task(0))
    exact = build(hyperparameters="fixed", step_precision="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        learn(exact, task(0))


def test_steps_that_train_the_kernel_are_in_double_precision() -> None:
    module = build()
    dtypes = []
    for number in range(2):
        module.begin_task(*task(number))
        assert module._task is not None
        dtypes.append(module._task.dtype)
        module.end_task()
    assert dtypes == [torch.float64, torch.float32]
