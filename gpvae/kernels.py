"""What the package asks of a gpytorch kernel: dense covariances, and its stationary components."""

from dataclasses import dataclass

import torch
from gpytorch.kernels import AdditiveKernel, Kernel, MaternKernel, RBFKernel, ScaleKernel
from torch import Tensor


def covariance(kernel: Kernel, x1: Tensor, x2: Tensor) -> Tensor:
    """k(x1, x2), dense, `[*L, N1, N2]`."""
    return kernel(x1, x2).to_dense()


def variance(kernel: Kernel, x: Tensor) -> Tensor:
    """k(x_n, x_n), `[*L, N]`."""
    return kernel(x, diag=True)


def hyperparameters(kernel: Kernel) -> Tensor:
    """All parameters of a kernel in one vector, by which to tell whether it has changed."""
    return torch.cat([p.reshape(-1) for p in kernel.parameters()] or [torch.zeros(0)])


class UnsupportedKernelError(TypeError):
    """A family of inducing variables cannot serve this kernel."""


@dataclass(frozen=True)
class Component:
    """One term v·κ(|x - x'| / lengthscale) of a stationary kernel.

    Attributes:
        kernel: The RBF or Matérn kernel itself.
        variance: v, `[*L]`.
    """

    kernel: RBFKernel | MaternKernel
    variance: Tensor

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
    if isinstance(kernel, RBFKernel | MaternKernel):
        return [Component(kernel, torch.ones_like(kernel.lengthscale[..., 0, 0]))]
    if isinstance(kernel, ScaleKernel):
        return [Component(c.kernel, kernel.outputscale * c.variance) for c in components(kernel.base_kernel)]
    if isinstance(kernel, AdditiveKernel):
        return [c for part in kernel.kernels for c in components(part)]
    raise UnsupportedKernelError(
        f"{type(kernel).__name__} has no spectral density here; expected RBFKernel or MaternKernel, "
        "scaled by ScaleKernel and summed by + as you like"
    )
