"""Unwhitened posteriors, for comparison with textbook formulas."""

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.inducing import InducingVariables
from gpvae.posteriors import Posterior
from gpvae.streaming import Frame, StreamingPosterior
from gpvae.utils.linalg import INITIAL_JITTER
from tests.equivalence.dense import Gaussian


def kuu(inducing: InducingVariables, kernel: Kernel) -> Tensor:
    """kuu with the initial jitter of the package."""
    K = inducing.kuu(kernel).detach()
    return K + INITIAL_JITTER[torch.float64] * K.diagonal().mean() * torch.eye(len(K), dtype=K.dtype)


@torch.no_grad()
def unwhitened(frame: Frame, q: Posterior, bound: Tensor) -> Gaussian:
    """q(u) = N(L mean, L S Lᵀ)."""
    root = frame.L @ q.root
    return Gaussian(frame.L @ q.mean, root @ root.mT, bound)


@torch.no_grad()
def q_of_u(posterior: StreamingPosterior, kernel: Kernel) -> Gaussian:
    """q(u) of a posterior between two tasks."""
    frame, q = posterior.q(kernel)
    return unwhitened(frame, q, posterior.site.log_evidence())


def whitened(L: Tensor, mean: Tensor, cov: Tensor) -> Posterior:
    """q(v) of q(u) = N(mean, cov), with an upper triangular root."""
    half = torch.linalg.solve_triangular(L, cov, upper=False)
    S = torch.linalg.solve_triangular(L, half.mT, upper=False)
    root = torch.linalg.cholesky(S.flip(0, 1)).flip(0, 1)
    return Posterior(torch.linalg.solve_triangular(L, mean[:, None], upper=False)[:, 0], root)
