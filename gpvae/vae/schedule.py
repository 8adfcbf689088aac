"""The optimiser of a GP-VAE, and its learning rates in the course of a task."""

import math
from collections.abc import Iterable
from typing import Any

from torch import nn
from torch.optim import Adam, Optimizer

#: Learning rate of noise and lengthscales, relative to that of the networks.
SCALE_RATE = 10.0


def adam(parameters: Iterable[nn.Parameter], scales: list[nn.Parameter], lr: float) -> Adam:
    """Adam, at a higher rate on scales, which are learnt as logarithms.

    Args:
        parameters: All parameters that are trained.
        scales: Noise and lengthscales among them.
        lr: Learning rate of the others.
    """
    others = [p for p in parameters if all(p is not scale for scale in scales)]
    groups: list[dict[str, Any]] = [{"params": others}, {"params": scales, "lr": SCALE_RATE * lr}]
    optimiser = Adam(groups, lr=lr, fused=True)
    optimiser._step_supports_amp_scaling = False  # else Lightning refuses to clip gradients
    return optimiser


def follow_cosine(optimizer: Optimizer, lr: float, progress: float) -> None:
    """Lower the learning rates of `adam` along half a cosine, from their full values to zero.

    Args:
        optimizer: The optimiser.
        lr: The full rate of the networks.
        progress: Share of the steps of the task that are done; the rates depend on nothing else.
    """
    factor = 0.5 * (1 + math.cos(math.pi * progress))
    for group, rate in zip(optimizer.param_groups, (1.0, SCALE_RATE), strict=True):
        group["lr"] = factor * rate * lr
