"""Log densities and divergences of normal distributions, with derivatives that take few operations.

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


def divergence(mean: Tensor, scale: Tensor, other_mean: Tensor, other_scale: Tensor) -> Tensor:
    """KL(N(mean, scale²) ‖ N(other_mean, other_scale²)), of which the second is trained."""
    return _Divergence.apply(mean, scale, other_mean, other_scale)  # type: ignore[no-untyped-call]


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


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        mean: Tensor,
        scale: Tensor,
        other_mean: Tensor,
        other_scale: Tensor,
    ) -> Tensor:
        ratio, z = scale / other_scale, (mean - other_mean) / other_scale
        square = torch.addcmul(ratio * ratio, z, z)
        ctx.save_for_backward(z, square, other_scale)
        return 0.5 * (square - 1) - ratio.log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        z, square, other_scale = ctx.saved_tensors
        by_scale = gradient / other_scale
        by_mean = -by_scale * z if ctx.needs_input_grad[2] else None
        return None, None, by_mean, torch.addcmul(by_scale, by_scale, square, value=-1)
