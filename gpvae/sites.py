"""Gaussian sites: all that past data say about the whitened inducing variables v = L⁻¹ u.

A site is a factor exp(c + hᵀv - ½ vᵀG v), which multiplies the prior N(v; 0, I). Sites add over points, minibatches,
ranks and tasks, and are transported from one family of variables to the next.
"""

import math
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from gpvae.utils.devices import moved
from gpvae.utils.linalg import cholesky, identity_like, log_det, matvec, solve_by_columns, solve_lower, symmetric


@dataclass(frozen=True)
class Site:
    """exp(c + hᵀv - ½ vᵀG v).

    Outputs that share a kernel, and are observed at the same inputs with the same noise, have one G.

    Attributes:
        c: Log scale, `[*B]`.
        h: `[*B, M]`.
        G: `[*B, M, M]`, or broadcast to it.
    """

    c: Tensor
    h: Tensor
    G: Tensor

    @classmethod
    def zero(cls, like: Tensor) -> "Site":
        """The site of no data, for factors L like the given one `[*B, M, M]`."""
        return cls(like.new_zeros(like.shape[:-2]), like.new_zeros(like.shape[:-1]), torch.zeros_like(like))

    def __add__(self, other: "Site") -> "Site":
        """Both sites together."""
        return Site(self.c + other.c, self.h + other.h, self.G + other.G)

    def parts(self) -> tuple[Tensor, ...]:
        """All tensors of the site."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def to(self, device: torch.device, dtype: torch.dtype) -> Self:
        """The same site on another device, in another floating point type."""
        return type(self)(*(moved(part, device, dtype) for part in self.parts()))

    def log_evidence(self) -> Tensor:
        """log ∫ N(v; 0, I) exp(c + hᵀv - ½ vᵀG v) dv = c + ½ hᵀ(I+G)⁻¹h - ½ log det(I+G), `[*B]`.

        For sites of Gaussian data this is the collapsed bound on log p(y) of all data so far.
        """
        return self._log_evidence(*self.factors())

    def factors(self) -> tuple[Tensor, Tensor]:
        """P with P Pᵀ = I + G, and P⁻¹ h."""
        P = cholesky(precision(self.G), jitter=0.0)
        return P, solve_by_columns(solve_lower, P, self.h)

    def _log_evidence(self, P: Tensor, half: Tensor) -> Tensor:
        return self.c + 0.5 * (half**2).sum(-1) - 0.5 * log_det(P)

    @classmethod
    def of_posterior(cls, mean: Tensor, P: Tensor, log_evidence: Tensor) -> "Site":
        """The site that turns the prior N(0, I) into N(mean, P⁻¹): G = P - I, h = P mean.

        Args:
            mean: `[*B, M]`.
            P: Precision, `[*B, M, M]`.
            log_evidence: The log evidence of the site, `[*B]`.
        """
        site = cls(torch.zeros_like(log_evidence), matvec(P, mean), P - identity_like(P))
        return cls(log_evidence - site.log_evidence(), site.h, site.G)

    def with_precision(self, G: Tensor) -> "Site":
        """The site with another G, but the same posterior mean (I+G)⁻¹h and log evidence.

        Args:
            G: Broadcast to `[*B, M, M]`.
        """
        P, half = self.factors()
        mean = torch.linalg.solve_triangular(P.mT, half[..., None], upper=True)[..., 0]
        return Site.of_posterior(mean, precision(G), self._log_evidence(P, half))

    def project(self, U: Tensor) -> "Site":
        """The site on w = Uᵀv with the same marginal posterior q(w) = N(Uᵀ mean, UᵀΣU) and the same log evidence.

        Args:
            U: Orthonormal columns, so that w has the prior N(0, I) too, `[*L, M, r]`.
        """
        P, half = self.factors()
        V = solve_lower(P, U)
        root = cholesky(V.mT @ V, jitter=0.0)
        inverse = solve_lower(root, identity_like(root).expand_as(root))
        return Site.of_posterior(matvec(V.mT, half), inverse.mT @ inverse, self._log_evidence(P, half))


@dataclass(frozen=True)
class Transport:
    """The map from sites on old variables v to sites on newer variables w, where v | w ~ N(Cᵀw, R).

    Variational (power 0): E[log site | w], so h ← C h, G ← C G Cᵀ, c ← c - ½ tr(G R).
    Power α: (E[site^α | w])^(1/α), so first h ← h - αGTh, G ← G - αGTG with T = R (I + αGR)⁻¹.
    This is the streaming sparse GP of Bui et al. (2017), without forming S⁻¹ - K⁻¹.

    Attributes:
        C: `[*L, M_new, M]`; None is the identity.
        R: `[*L, M, M]`; None is zero, where w determines v.
        power: α.
    """

    C: Tensor | None = None
    R: Tensor | None = None
    power: float = 0.0

    @classmethod
    def from_nothing(cls, like: Tensor) -> "Transport":
        """The transport of a past without variables (M = 0), which gives `Site.zero(like)`."""
        like = like.detach()
        return cls(like[..., :0], like[..., :0, :0])

    def loss(self, site: Site) -> Tensor:
        """½ tr(G R), in nats: what the site says about directions that w cannot see, `[*B]`."""
        return torch.zeros_like(site.c) if self.R is None else 0.5 * (site.G * self.R).sum((-2, -1)).detach()

    def __call__(self, site: Site) -> Site:
        """The site on w."""
        c, h, G = site.c, site.h, site.G
        if self.R is not None and self.power == 0:
            c = c - 0.5 * (G * self.R).sum((-2, -1))
        elif self.R is not None:
            M = identity_like(self.R) + self.power * (G @ self.R)
            T = symmetric(torch.linalg.solve(M, self.R, left=False))
            Th = matvec(T, h)
            c = c - 0.5 / self.power * torch.linalg.slogdet(M)[1] + 0.5 * self.power * (h * Th).sum(-1)
            h = h - self.power * matvec(G, Th)
            G = symmetric(G - self.power * (G @ T @ G))
        return Site(c, h, G) if self.C is None else Site(c, matvec(self.C, h), symmetric(self.C @ G @ self.C.mT))


def gaussian_site(
    a: Tensor, y: Tensor, noise: Tensor, residual: Tensor, power: float = 0.0, weights: Tensor | None = None
) -> Site:
    """The site of Gaussian observations: G = Σ w a aᵀ / s, h = Σ w a y / s.

    Variational (power 0): s = noise, and c carries the trace term -½ Σ residual / noise.
    Power α: s = noise + α residual.

    Args:
        a: Whitened features L⁻¹ kuf, `[*L, M, N]`.
        y: Observations, `[*B, N]`.
        noise: Variances, broadcast to `[*B, N]`.
        residual: kff - qff >= 0, `[*L, N]`.
        power: α.
        weights: w, powers of the points' likelihoods, `[*B, N]`; one if not given.
    """
    if power == 0:
        s, shortfall = noise, 0.5 * residual / noise
    else:
        s = noise + power * residual
        shortfall = (1 - power) / (2 * power) * torch.log1p(power * residual / noise)
    s = s.expand(torch.broadcast_shapes(s.shape, residual.shape))
    c = -0.5 * (torch.log(2 * math.pi * s) + y**2 / s) - shortfall
    scaled = a / s[..., None, :]
    if weights is not None:
        c, scaled = weights * c, weights[..., None, :] * scaled
    return Site(c.sum(-1), matvec(scaled, y), scaled @ a.mT)


def residual_variance(a: Tensor, prior: Tensor) -> Tensor:
    """kff - qff >= 0: the prior variance `[*L, N]` that features a `[*L, M, N]` do not explain."""
    return (prior - (a**2).sum(-2)).clamp_min(0)


def precision(G: Tensor) -> Tensor:
    """I + G."""
    return G + identity_like(G)
