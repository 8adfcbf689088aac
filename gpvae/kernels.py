"""Access to gpytorch kernels: dense covariances, and stationary components."""

import itertools
import math
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul
from typing import Any

import torch
from gpytorch.kernels import (
    AdditiveKernel,
    Kernel,
    MaternKernel,
    ProductKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
    SpectralMixtureKernel,
)
from gpytorch.settings import lazily_evaluate_kernels
from torch import Tensor

#: Maximum number of terms that a spectral mixture may have.
MAX_MIXTURES = 64


class _OverTime(Kernel):
    """A kernel of variance one over inputs of one dimension.

    Distances are computed directly: gpytorch first compares all inputs, to save a matrix product if they are equal.
    """

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
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
        **params: Any,
    ) -> Tensor:
        """Distances `[..., N1, N2]` of times `[..., N1, 1]` and `[..., N2, 1]`, or `[..., N]` of pairs of them."""
        difference = (x1 - x2)[..., 0] if diag else x1 - x2.mT
        return difference.square() if square_dist else difference.abs()


class TimeRBFKernel(_OverTime, RBFKernel):
    """An RBF kernel over time, exp(-½ (x - x')² / l²), whose squares are computed once for all lengthscales."""

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """As the base class."""
        if diag:
            return super().forward(x1, x2, diag=True, **params)
        return self.covar_dist(x1, x2, square_dist=True).mul(-0.5 / self.lengthscale.square()).exp_()


class TimeMaternKernel(_OverTime, MaternKernel):
    """A Matérn kernel over time."""


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


def check_kernel(kernel: Kernel) -> None:
    """Raise unless this is a kernel that gives one covariance for each pair of inputs."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a kernel of gpytorch, such as gpytorch.kernels.RBFKernel(); got {kernel!r}")
    x = torch.zeros(1, 1, dtype=torch.float64)
    for part in (module for module in kernel.modules() if isinstance(module, Kernel)):
        num = part.num_outputs_per_input(x, x)
        if num != 1:
            raise UnsupportedKernelError(
                f"{type(part).__name__} has {num} outputs for each input; give a kernel of one output, with "
                f"batch_shape=torch.Size([{num}]) for {num} independent ones"
            )


def check_input_dim(kernel: Kernel, dim: int) -> None:
    """Raise unless the kernel takes inputs of `dim` dimensions.

    Raises:
        ValueError: `ard_num_dims` or `active_dims` of some part do not fit; the message has their values.
    """
    name, active = type(kernel).__name__, kernel.active_dims
    if active is not None and int(active.max()) >= dim:
        raise ValueError(f"active_dims={tuple(active.tolist())} of {name} do not fit inputs of {dim} dimension(s)")
    _check_ard(kernel, dim if active is None else len(active))


def _check_ard(kernel: Kernel, dim: int) -> None:
    """Check a kernel whose `active_dims` have been selected."""
    ard = getattr(kernel, "ard_num_dims", None)
    if ard is not None and ard != dim:
        raise ValueError(
            f"ard_num_dims={ard} of {type(kernel).__name__}, but its inputs have {dim} dimension(s); it is the number "
            "of lengthscales, one for each"
        )
    if isinstance(kernel, ScaleKernel):
        _check_ard(kernel.base_kernel, dim)
    elif isinstance(kernel, AdditiveKernel | ProductKernel):
        for part in kernel.kernels:
            check_input_dim(part, dim)


class UnsupportedKernelError(TypeError):
    """A family of inducing variables does not support this kernel."""


@dataclass(frozen=True)
class Factor:
    """A stationary kernel of variance one, by its spectrum: ω = s z / lengthscale ± offset with z ~ N(0, I).

    Attributes:
        kernel: The kernel itself.
        lengthscale: Lengthscales, `[*L, 1, D]` or `[*L, 1, 1]`.
        active_dims: The input dimensions it depends on; all if None.
        smoothness: ν of a Matérn kernel, s² = 2ν / χ²_2ν; infinite for others, s = 1.
        alpha: α of a rational quadratic kernel, `[*L, 1]`: s² = g / α, g ~ Gamma(α, 1); None for others.
        offset: Frequency of a wave that the kernel is multiplied with in each dimension, `[*L, 1, D]`; None for none.
    """

    kernel: Kernel
    lengthscale: Tensor
    active_dims: Tensor | None
    smoothness: float = math.inf
    alpha: Tensor | None = None
    offset: Tensor | None = None


@dataclass(frozen=True)
class Component:
    """One term of a stationary kernel: a variance v, and a product of factors, whose frequencies add.

    Attributes:
        variance: v, `[*L]`.
        factors: The factors.
    """

    variance: Tensor
    factors: tuple[Factor, ...]

    @property
    def is_simple(self) -> bool:
        """Whether it is an RBF or a Matérn kernel, scaled."""
        return len(self.factors) == 1 and self.factors[0].alpha is None and self.factors[0].offset is None

    @property
    def name(self) -> str:
        """The types of the factors."""
        return " * ".join(type(factor.kernel).__name__ for factor in self.factors)


def components(kernel: Kernel) -> list[Component]:
    """The terms of sums and products of scaled RBF, Matérn, rational quadratic and spectral mixture kernels.

    Raises:
        UnsupportedKernelError: Some part of the kernel is of another type.
    """
    if type(kernel) in (RBFKernel, MaternKernel, RQKernel, TimeRBFKernel, TimeMaternKernel):
        factor = Factor(
            kernel,
            kernel.lengthscale,
            kernel.active_dims,
            smoothness=float(kernel.nu) if isinstance(kernel, MaternKernel) else math.inf,
            alpha=kernel.alpha if isinstance(kernel, RQKernel) else None,
        )
        return [Component(torch.ones_like(kernel.lengthscale[..., 0, 0]), (factor,))]
    if type(kernel) is SpectralMixtureKernel:
        return _mixture_components(kernel)
    if type(kernel) is ScaleKernel:
        parts = components(kernel.base_kernel)
        if kernel.active_dims is not None:
            if isinstance(kernel.base_kernel, AdditiveKernel | ProductKernel):
                whole = "sum" if isinstance(kernel.base_kernel, AdditiveKernel) else "product"
                raise UnsupportedKernelError(
                    f"set active_dims on the terms of a {whole} of kernels, not on the {whole}"
                )
            parts = [
                Component(c.variance, tuple(replace(f, active_dims=kernel.active_dims) for f in c.factors))
                for c in parts
            ]
        return [Component(kernel.outputscale * c.variance, c.factors) for c in parts]
    if type(kernel) is AdditiveKernel and kernel.active_dims is None:
        return [c for part in kernel.kernels for c in components(part)]
    if type(kernel) is ProductKernel and kernel.active_dims is None:
        return [_product(terms) for terms in itertools.product(*(components(part) for part in kernel.kernels))]
    raise UnsupportedKernelError(
        f"the spectral density of {type(kernel).__name__} is not known; expected RBFKernel, MaternKernel, RQKernel or "
        "SpectralMixtureKernel, optionally scaled by ScaleKernel, summed and multiplied"
    )


def _product(terms: tuple[Component, ...]) -> Component:
    """The product of terms: variances multiply, factors collect."""
    variance = reduce(mul, (term.variance for term in terms))
    return Component(variance, tuple(f for term in terms for f in term.factors))


def _mixture_components(kernel: SpectralMixtureKernel) -> list[Component]:
    """The terms of Π_d Σ_q w_q exp(-2π² τ² v²) cos(2π μ τ), gpytorch's mixture: one of each choice of q for every d."""
    num, dim = kernel.num_mixtures, kernel.ard_num_dims
    if num**dim > MAX_MIXTURES:
        raise UnsupportedKernelError(
            f"a spectral mixture of {num} in {dim} dimensions has {num**dim:,} terms, more than {MAX_MIXTURES}"
        )
    parts = []
    for choice in itertools.product(range(num), repeat=dim):
        mean, scale = (
            torch.stack([value[..., q, 0, d] for d, q in enumerate(choice)], -1)[..., None, :]
            for value in (kernel.mixture_means, kernel.mixture_scales)
        )
        weight = reduce(mul, (kernel.mixture_weights[..., q] for q in choice))
        factor = Factor(kernel, 1 / (2 * math.pi * scale), kernel.active_dims, offset=2 * math.pi * mean)
        parts.append(Component(weight, (factor,)))
    return parts
