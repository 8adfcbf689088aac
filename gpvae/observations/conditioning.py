"""The function given the memory of a stream, and conditioned exactly on recent points."""

import math
from dataclasses import dataclass

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from torch import Tensor

from gpvae.kernels import covariance, variance
from gpvae.likelihoods import PointLikelihood, base_likelihood, is_gaussian, weights_of
from gpvae.natural_gradients import PointSites, natural_posterior
from gpvae.posteriors import Posterior
from gpvae.sites import Site, precision
from gpvae.streaming import Frame, StreamingPosterior
from gpvae.utils.linalg import (
    cholesky,
    common_rows,
    identity_like,
    log_det,
    matvec,
    solve_by_columns,
    solve_lower,
)


@dataclass(frozen=True)
class FunctionValues:
    """f at some inputs, given a memory.

    Attributes:
        x: Inputs `[N, D]`.
        a: Whitened features, `[*L, M, N]`.
        prior: Prior variances, `[*L, N]`.
    """

    x: Tensor
    a: Tensor
    prior: Tensor


@dataclass(frozen=True)
class MemoryProcess:
    """f given the memory of a stream; the prior if there is none yet.

    Attributes:
        kernel: The kernel.
        frame: The frame of the memory; None if there is none.
        q: q(v) in it.
    """

    kernel: Kernel
    frame: Frame | None
    q: Posterior

    @classmethod
    def of(cls, posterior: StreamingPosterior, kernel: Kernel) -> "MemoryProcess":
        """The function given what a posterior has consolidated."""
        if not posterior.started:
            batch = kernel.batch_shape
            return cls(kernel, None, Posterior(posterior.h.expand(*batch, 0), posterior.L.expand(*batch, 0, 0)))
        return cls(kernel, *posterior.q(kernel))

    @property
    def inducing(self) -> tuple[Frame | None, Posterior]:
        """The frame of the memory, and the posterior of its variables v."""
        return self.frame, self.q

    def at(self, x: Tensor) -> FunctionValues:
        """f at inputs `[N, D]`."""
        if self.frame is not None:
            return FunctionValues(x, *self.frame.features(x))
        prior = variance(self.kernel, x)
        return FunctionValues(x, prior.new_zeros(*prior.shape[:-1], 0, prior.shape[-1]), prior)

    def marginals(self, f: FunctionValues) -> tuple[Tensor, Tensor]:
        """Means and variances, `[*L, N]`."""
        return self.q.marginals(f.a, f.prior)

    def covariance(self, f: FunctionValues, g: FunctionValues | None = None) -> Tensor:
        """Covariances of f with itself or with other values, `[*L, N, N']`."""
        if self.frame is None:
            return covariance(self.kernel, f.x, f.x if g is None else g.x)
        if g is None:
            return self.q.covariance(f.a, self.frame.inducing.kff(self.kernel, f.x))
        prior = self.frame.inducing.kff(self.kernel, f.x, g.x)
        return prior - f.a.mT @ g.a + (self.q.root.mT @ f.a).mT @ (self.q.root.mT @ g.a)


@dataclass(frozen=True)
class ConditionedProcess:
    """f given a memory and points that are not in it.

    Each point n has a site of precision λ_n: that of its Gaussian noise, or the best one found by natural gradients. S
    is the covariance of f at the points given the memory, and Λ = diag(λ). At other inputs, whose covariance with f at
    the points is C, the mean changes by Cᵀα and the covariance by -Cᵀ (S + Λ⁻¹)⁻¹ C. This does not depend on what the
    memory can resolve.

    Attributes:
        memory: f given the memory.
        points: f at the points.
        alpha: α, `[*L, B]`.
        root: P⁻¹ Λ^½ with P Pᵀ = I + Λ^½ S Λ^½, `[*L, B, B]`.
        log_evidence: Log density of the points given the memory, or a bound on it, `[*L]`.
    """

    memory: MemoryProcess
    points: FunctionValues
    alpha: Tensor
    root: Tensor
    log_evidence: Tensor

    @classmethod
    def of(cls, memory: MemoryProcess, likelihood: Likelihood, x: Tensor, y: Tensor) -> "ConditionedProcess":
        """Condition on points.

        Args:
            memory: f given the memory.
            likelihood: The likelihood of the points.
            x: Their inputs `[B, D]`.
            y: Their targets, centred if they are Gaussian, `[*L, B]`.
        """
        points = memory.at(x)
        mean, _ = memory.marginals(points)
        S = memory.covariance(points)
        if is_gaussian(likelihood):
            sites, evidence = _gaussian_sites(likelihood, y - mean)
            sites.precision = common_rows(sites.precision, S)
        else:
            sites, evidence = _best_sites(likelihood, mean, S, y)
        half = sites.precision.sqrt()
        P = cholesky(precision(half[..., :, None] * S * half[..., None, :]), jitter=0.0)
        A = precision(sites.precision[..., :, None] * S)
        alpha = solve_by_columns(torch.linalg.solve, A, sites.natural_mean)
        if is_gaussian(likelihood):
            evidence = evidence - 0.5 * ((y - mean) * alpha).sum(-1) - 0.5 * log_det(P)
        return cls(memory, points, alpha, solve_lower(P, torch.diag_embed(half)), evidence)

    @property
    def inducing(self) -> tuple[Frame | None, Posterior]:
        """The frame of the memory, and the posterior of its variables v: cov(v, f) is root rootᵀ a at the points."""
        frame, q = self.memory.inducing
        C = q.root.mT @ self.points.a
        half = self.root @ C.mT
        change = cholesky(identity_like(q.root) - half.mT @ half)
        return frame, Posterior(q.mean + matvec(q.root @ C, self.alpha), q.root @ change)

    def at(self, x: Tensor) -> FunctionValues:
        """f at inputs `[N, D]`."""
        return self.memory.at(x)

    def marginals(self, f: FunctionValues) -> tuple[Tensor, Tensor]:
        """Means and variances, `[*L, N]`."""
        mean, var = self.memory.marginals(f)
        C = self.memory.covariance(self.points, f)
        return mean + matvec(C.mT, self.alpha), (var - ((self.root @ C) ** 2).sum(-2)).clamp_min(0)

    def covariance(self, f: FunctionValues) -> Tensor:
        """Covariances, `[*L, N, N]`."""
        half = self.root @ self.memory.covariance(self.points, f)
        return self.memory.covariance(f) - half.mT @ half


def _gaussian_sites(likelihood: Likelihood, y: Tensor) -> tuple[PointSites, Tensor]:
    """The sites of Gaussian targets `[*L, B]`, and the log of their normalisation, `[*L]`."""
    noise, weights = likelihood.noise.detach().expand(y.shape), weights_of(likelihood)
    scale = -0.5 * torch.log(2 * math.pi * noise)
    if weights is None:
        return PointSites(1 / noise, y / noise), scale.sum(-1)
    return PointSites(weights / noise, weights * y / noise), (weights * scale).sum(-1)


def _best_sites(likelihood: Likelihood, mean: Tensor, S: Tensor, y: Tensor) -> tuple[PointSites, Tensor]:
    """The best sites of non-Gaussian targets `[*L, B]` for f ~ N(mean, S), and the bound that they reach, `[*L]`.

    f = mean + Aᵀv with AᵀA = S. A comes from eigenvectors, because S is singular if inputs are equal.
    """
    values, vectors = torch.linalg.eigh(S)
    a = (vectors * values.clamp_min(0).sqrt()[..., None, :]).mT
    offset = likelihood.offset if isinstance(likelihood, PointLikelihood) else None
    offset = mean if offset is None else mean + offset
    centred = PointLikelihood(base_likelihood(likelihood), weights=weights_of(likelihood), offset=offset)
    sites = PointSites.zero(y)
    _, bound = natural_posterior(Site.zero(a), centred, a, (a**2).sum(-2), y, sites=sites)
    return sites, bound
