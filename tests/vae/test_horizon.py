"""Lengthscales that the memory can follow over the whole stream."""

import warnings

import pytest
import torch

from gpvae.diagnostics import ResolutionWarning
from gpvae.modules import SVGPVAE
from tests.vae.learning import Data, learn

HOURS = 20


def task(number: int) -> Data:
    times = HOURS * number + torch.arange(HOURS, dtype=torch.float64)
    y = torch.sin(times / 2)[None, :, None].expand(2, -1, 3).float().contiguous()
    return times, y, torch.ones_like(y, dtype=torch.bool)


def small(**options: object) -> SVGPVAE:
    torch.manual_seed(0)
    sizes = {"num_inducing": 10, "num_variables": 3, "latent_dim": 2, "hidden_dim": 4, "consolidation": "none"}
    return SVGPVAE("CosS", **(sizes | options))  # type: ignore[arg-type]


@pytest.mark.parametrize("hyperparameters", ["fixed", "train_first_task"])
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_lengthscales_stay_above_the_horizon_divided_by_the_number_of_variables(hyperparameters: str) -> None:
    module = small(horizon=80.0, hyperparameters=hyperparameters, lr=0.05)
    learn(module, task(0), steps=20)
    assert float(module.vae.kernel.lengthscale.detach().min()) > 8.0
    again = small(horizon=80.0, hyperparameters=hyperparameters, lr=0.05)
    again.load_state_dict(module.state_dict())
    assert torch.equal(again.vae.kernel.lengthscale, module.vae.kernel.lengthscale)


@pytest.mark.parametrize(("options", "shortest"), [({"horizon": 0.0}, 3.0), ({}, 3.0), ({"horizon": 10.0}, 3.0)])
def test_no_horizon_or_a_short_one_leaves_the_start_alone(options: dict[str, object], shortest: float) -> None:
    module = small(hyperparameters="fixed", **options)
    module.begin_task(*task(0))
    assert float(module.vae.kernel.lengthscale.detach().min()) == pytest.approx(shortest)


def test_a_sliding_window_has_no_horizon() -> None:
    module = small(horizon=1000.0, hyperparameters="fixed", inducing="FouT")
    module.begin_task(*task(0))
    assert float(module.vae.kernel.lengthscale.detach().min()) == pytest.approx(3.0)


def test_a_stream_that_outgrows_its_horizon_says_so_once() -> None:
    module = small(horizon=2.0 * HOURS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(4):
            learn(module, task(number), steps=1)
            said = [str(w.message) for w in caught if w.category is ResolutionWarning and "horizon" in str(w.message)]
            assert len(said) == (number >= 2)
    assert "10 CosS variables hold 40 units of time at lengthscales of 4, and this task ends at 59" in said[0]
