"""Kernels for the contracts, built for gpytorch and for the oracle from the same numbers."""

import math
from dataclasses import dataclass

import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel

from tests import oracle

#: Latent dimensions of a kernel with a batch axis.
LATENTS = 3


@dataclass(frozen=True)
class Part:
    """One term: a Matérn kernel of smoothness ν (RBF where infinite) for each of three latent dimensions.

    Attributes:
        nu: ν.
        lengthscales: One row for each latent dimension, one or D lengthscales in it.
        variances: One for each latent dimension; None for a kernel without a scale.
    """

    nu: float
    lengthscales: tuple[tuple[float, ...], ...]
    variances: tuple[float, ...] | None = None

    def build(self, rows: slice) -> Kernel:
        lengthscales = torch.tensor(self.lengthscales[rows], dtype=torch.float64)
        shape = torch.Size([LATENTS]) if len(lengthscales) == LATENTS else torch.Size()
        ard = lengthscales.shape[-1] if lengthscales.shape[-1] > 1 else None
        rbf = math.isinf(self.nu)
        kernel: Kernel = (
            RBFKernel(ard_num_dims=ard, batch_shape=shape)
            if rbf
            else MaternKernel(nu=self.nu, ard_num_dims=ard, batch_shape=shape)
        )
        kernel = kernel.double()
        kernel.lengthscale = lengthscales.reshape(*shape, 1, -1)
        if self.variances is None:
            return kernel
        kernel = ScaleKernel(kernel, batch_shape=shape).double()
        kernel.outputscale = torch.tensor(self.variances[rows], dtype=torch.float64).reshape(shape)
        return kernel

    def term(self, latent: int) -> oracle.Term:
        variance = 1.0 if self.variances is None else self.variances[latent]
        return oracle.Term(self.nu, variance, self.lengthscales[latent])


@dataclass(frozen=True)
class KernelCase:
    """A sum of parts over inputs of `dim` dimensions."""

    name: str
    parts: tuple[Part, ...]
    dim: int = 1

    def build(self, batch: bool = False) -> Kernel:
        """The gpytorch kernel of all latent dimensions, or of the first alone."""
        kernels = [part.build(slice(None) if batch else slice(1)) for part in self.parts]
        total = kernels[0]
        for kernel in kernels[1:]:
            total = total + kernel
        return total

    def terms(self, latent: int) -> list[oracle.Term]:
        return [part.term(latent) for part in self.parts]

    @property
    def smoothness(self) -> float:
        return min(part.nu for part in self.parts)


def _matern(nu: float) -> KernelCase:
    return KernelCase(f"matern{2 * nu:.0f}2", (Part(nu, ((0.5,), (0.8,), (1.4,)), (0.7, 1.0, 2.5)),))


RBF = KernelCase("rbf", (Part(math.inf, ((0.5,), (0.8,), (1.4,))),))
SCALED_RBF = KernelCase("scaled_rbf", (Part(math.inf, ((0.4,), (0.9,), (1.6,)), (0.7, 1.0, 2.5)),))
MATERN12, MATERN32, MATERN52 = _matern(0.5), _matern(1.5), _matern(2.5)
SUM = KernelCase("sum", (*SCALED_RBF.parts, *MATERN32.parts))
ARD = KernelCase("ard", (Part(math.inf, ((0.6, 1.5), (0.9, 0.9), (2.0, 1.1)), (0.7, 1.0, 2.5)),), dim=2)
ARD_SUM = KernelCase("ard_sum", (*ARD.parts, Part(2.5, ((0.8,), (1.0,), (1.4,)), (0.5, 0.2, 0.4))), dim=2)

OVER_TIME = (RBF, SCALED_RBF, MATERN12, MATERN32, MATERN52, SUM)
OVER_SPACE = (ARD, ARD_SUM)
MATERN = (MATERN12, MATERN32, MATERN52)
