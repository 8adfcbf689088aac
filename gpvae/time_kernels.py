"""Kernels over time, whose distances are differences: few operations, none of which waits for the device."""

from typing import Any

import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from torch import Tensor


class _OverTime(Kernel):
    """A kernel of variance one over inputs of one dimension.

    Gpytorch compares all inputs before it computes distances, to spare itself a matrix product.
    """

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:  # noqa: ANN401
        """Covariances `[*L, N1, N2]`, or `[*L, N]` of pairs of inputs."""
        if diag and x1 is x2:
            batch = torch.broadcast_shapes(self.batch_shape, x1.shape[:-2])
            return x1.new_ones(*batch, x1.shape[-2])
        return super().forward(x1, x2, diag=diag, **params)

    def covar_dist(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        square_dist: bool = False,
        **params: Any,  # noqa: ANN401
    ) -> Tensor:
        """Distances `[..., N1, N2]` of times `[..., N1, 1]` and `[..., N2, 1]`, or `[..., N]` of pairs of them."""
        difference = (x1 - x2)[..., 0] if diag else x1 - x2.mT
        return difference.square() if square_dist else difference.abs()


class TimeRBFKernel(_OverTime, RBFKernel):
    """An RBF kernel over time."""


class TimeMaternKernel(_OverTime, MaternKernel):
    """A Matérn kernel over time."""
