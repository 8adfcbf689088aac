"""Access to gpytorch kernels: dense covariances, and stationary components."""

from dataclasses import dataclass

import torch
from gpytorch.kernels import AdditiveKernel, Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.settings import lazily_evaluate_kernels
from torch import Tensor


def covariance(kernel: Kernel, x1: Tensor, x2: Tensor) -> Tensor:
    """k(x1, x2), dense, `[*L, N1, N2]`."""
    with lazily_evaluate_kernels(False):  # lazy evaluation takes longer than a small covariance itself
        return kernel(x1, x2).to_dense()


def variance(kernel: Kernel, x: Tensor) -> Tensor:
    """k(x_n, x_n), `[*L, N]`.

    Inputs are first expanded to the kernel's batch shape; otherwise gpytorch mistakes the result for a matrix if L = N,
    and returns its diagonal.
    """
    batch = torch.broadcast_shapes(kernel.batch_shape, x.shape[:-2])
    return kernel(x.expand(*batch, *x.shape[-2:]), diag=True)


def flat_parameters(kernel: Kernel) -> Tensor:
    """All parameters of a kernel in one vector, to detect changes."""
    return torch.cat([p.reshape(-1) for p in kernel.parameters()] or [torch.zeros(0)])


class UnsupportedKernelError(TypeError):
    """A family of inducing variables does not support this kernel."""


@dataclass(frozen=True)
class Component:
    """One term v·κ(|x - x'| / lengthscale) of a stationary kernel.

    Attributes:
        kernel: The RBF or Matérn kernel itself.
        variance: v, `[*L]`.
        active_dims: The input dimensions it depends on; all if None.
    """

    kernel: RBFKernel | MaternKernel
    variance: Tensor
    active_dims: Tensor | None

    @property
    def smoothness(self) -> float:
        """ν of a Matérn kernel; infinite for RBF."""
        return float(self.kernel.nu) if isinstance(self.kernel, MaternKernel) else float("inf")

    @property
    def lengthscale(self) -> Tensor:
        """Lengthscales, `[*L, 1, D]` or `[*L, 1, 1]`."""
        return self.kernel.lengthscale


def components(kernel: Kernel) -> list[Component]:
    """The terms of a sum of scaled RBF and Matérn kernels.

    Raises:
        UnsupportedKernelError: Some part of the kernel is of another type.
    """
    if type(kernel) in (RBFKernel, MaternKernel):
        return [Component(kernel, torch.ones_like(kernel.lengthscale[..., 0, 0]), kernel.active_dims)]
    if type(kernel) is ScaleKernel:
        if kernel.active_dims is not None and isinstance(kernel.base_kernel, AdditiveKernel):
            raise UnsupportedKernelError("set active_dims on the terms of a sum of kernels, not on the sum")
        return [
            Component(c.kernel, kernel.outputscale * c.variance, _first(kernel.active_dims, c.active_dims))
            for c in components(kernel.base_kernel)
        ]
    if type(kernel) is AdditiveKernel and kernel.active_dims is None:
        return [c for part in kernel.kernels for c in components(part)]
    raise UnsupportedKernelError(
        f"the spectral density of {type(kernel).__name__} is not known; expected RBFKernel or MaternKernel, "
        "optionally scaled by ScaleKernel and summed"
    )


def _first(outer: Tensor | None, inner: Tensor | None) -> Tensor | None:
    """The `active_dims` of a scaled kernel, which take precedence over those of its base kernel."""
    return inner if outer is None else outer
