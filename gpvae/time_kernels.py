"""Kernels over time, whose distances are differences: few operations, none of which waits for the device."""

from typing import Any

from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from torch import Tensor


class _OverTime(Kernel):  # type: ignore[misc]
    """Distances of inputs of one dimension; gpytorch compares all inputs first, to spare itself a matrix product."""

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


class TimeRBFKernel(_OverTime, RBFKernel):  # type: ignore[misc]
    """An RBF kernel over time."""


class TimeMaternKernel(_OverTime, MaternKernel):  # type: ignore[misc]
    """A Matérn kernel over time."""
