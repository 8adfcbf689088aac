"""Learning without a trainer."""

import torch
from torch import Tensor

from gpvae.modules import SVGPVAE

Data = tuple[Tensor, Tensor, Tensor]


def learn(module: SVGPVAE, data: Data, steps: int = 3) -> None:
    """Learn a task.

    Args:
        module: The model.
        data: Times, values and mask of all series.
        steps: Number of steps, each with all series.
    """
    module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
    module.begin_task(*data)
    optimiser = module.configure_optimizers()
    for step in range(steps):
        optimiser.zero_grad()
        module.training_step((torch.arange(len(data[1]), device=data[1].device), *data), step).backward()
        for parameter in module.frozen_parameters():
            parameter.grad = None
        optimiser.step()
    module.end_task()


def predictions(module: SVGPVAE, hours: float = 72.0) -> tuple[Tensor, Tensor]:
    """Means and standard deviations of the latents of all series learnt so far."""
    series = torch.arange(int(module.vae.posterior.num_series))
    f = module.vae.latent(torch.arange(0.0, hours, 0.7, dtype=torch.float64), series)
    return f.mean, f.stddev
