"""Log densities of normal distributions, with derivatives that take few operations.

`torch.distributions` checks arguments, for which it waits for the device.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


def log_prob(y: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    """log N(y; mean, scale²), for tensors of one shape; y is given, not trained."""
    return _LogProb.apply(y, mean, scale)  # type: ignore[no-untyped-call]


class _LogProb(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, mean: Tensor, scale: Tensor) -> Tensor:  # noqa: ANN401
        z = (y - mean) / scale
        ctx.save_for_backward(z, scale)
        return torch.addcmul(-HALF_LOG_2_PI - scale.log(), z, z, value=-0.5)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        z, scale = ctx.saved_tensors
        by_z = gradient / scale
        by_mean = by_z * z
        return None, by_mean if ctx.needs_input_grad[1] else None, torch.addcmul(-by_z, by_mean, z)
