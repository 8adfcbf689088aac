"""Replay of past latents."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from gpvae.modules import SVGPVAE

NUM_SERIES = 3


def build(**options: Any) -> SVGPVAE:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"num_variables": 2, "num_inducing": 6, "latent_dim": 2, "hidden_dim": 8, "num_samples": 5}
    module = SVGPVAE(consolidation="replay", replay_times=16, **sizes, **options)
    module.log = lambda *args, **options: None  # type: ignore[method-assign]
    return module


def task(number: int) -> tuple[Tensor, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(number)
    times = 24 * number + torch.arange(24, dtype=torch.float64)
    y = torch.sin(times / 6)[:, None] + 0.3 * torch.randn(NUM_SERIES, 24, 2, generator=rng)
    return times, y.float(), torch.ones_like(y, dtype=torch.bool)


def train(module: SVGPVAE, data: tuple[Tensor, Tensor, Tensor], steps: int = 3) -> None:
    optimiser = module.configure_optimizers()
    for step in range(steps):
        optimiser.zero_grad()  # type: ignore[union-attr]
        module.training_step((torch.arange(NUM_SERIES), *data), step).backward()
        for parameter in module.frozen_parameters():
            parameter.grad = None
        optimiser.step()  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"inducing": "CosS", "hyperparameters": "fixed"},
        {"inducing": "CosS", "hyperparameters": "train_always"},
        {"method": "OSVGP"},  # its points are trained
    ],
)
def test_a_run_resumed_within_a_task_replays_the_same(options: dict[str, Any]) -> None:
    """Past latents are those of the beginning of the task, whatever it has trained since."""
    module = build(**options)
    module.begin_task(*task(0))
    train(module, task(0))
    module.end_task()
    module.begin_task(*task(1))
    train(module, task(1))
    resumed = build(**options)
    resumed.load_state_dict(copy.deepcopy(module.state_dict()))
    resumed.attach_task(*task(1))
    assert module.replay is not None
    assert resumed.replay is not None
    for ours, expected in (
        (resumed.replay.means, module.replay.means),
        (resumed.replay.spreads, module.replay.spreads),
    ):
        assert torch.equal(ours, expected)
    losses = [each.training_step((torch.arange(NUM_SERIES), *task(1)), 3) for each in (module, resumed)]
    assert torch.equal(*losses)
