"""Gaussian posteriors q(v) over whitened inducing variables, from a site or free-form."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gpvae.sites import Site, precision, residual_variance
from gpvae.utils.linalg import cholesky, identity_like, matvec, solve_lower


@dataclass(frozen=True)
class Posterior:
    """q(v) = N(mean, root rootᵀ), root upper triangular.

    Attributes:
        mean: `[*B, M]`.
        root: `[*B, M, M]`.
    """

    mean: Tensor
    root: Tensor

    @classmethod
    def from_site(cls, site: Site) -> "Posterior":
        """The conjugate posterior N((I+G)⁻¹h, (I+G)⁻¹)."""
        P = cholesky(precision(site.G), jitter=0.0)
        root = solve_lower(P, identity_like(P).expand_as(P)).mT
        return cls(matvec(root, matvec(root.mT, site.h)), root)

    def expand(self, *batch: int) -> "Posterior":
        """The same posterior for each element of a batch."""
        return Posterior(self.mean.expand(*batch, -1), self.root.expand(*batch, -1, -1))

    def to_site(self, bound: Tensor) -> Site:
        """The site that gives this posterior: G = S⁻¹ - I, h = S⁻¹ mean, and log evidence `bound`."""
        identity = identity_like(self.root).expand_as(self.root)
        inverse = torch.linalg.solve_triangular(self.root, identity, upper=True)
        return Site.of_posterior(self.mean, inverse.mT @ inverse, bound)

    def marginals(self, a: Tensor, prior: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of f, given features a `[*L, M, N]` and prior variances `[*L, N]`.

        aᵀ mean, and kff - |a|² + |rootᵀ a|².
        """
        return matvec(a.mT, self.mean), residual_variance(a, prior) + ((self.root.mT @ a) ** 2).sum(-2)

    def covariance(self, a: Tensor, prior: Tensor) -> Tensor:
        """Covariance of f, `[*B, N, N]`, from the prior covariance kff `[*L, N, N]`."""
        half = self.root.mT @ a
        return prior - a.mT @ a + half.mT @ half

    def kl(self) -> Tensor:
        """KL(q ‖ N(0, I)), `[*B]`."""
        log_det = 2 * self.root.diagonal(dim1=-2, dim2=-1).abs().log().sum(-1)
        size = self.mean.shape[-1]
        return 0.5 * ((self.mean**2).sum(-1) + (self.root**2).sum((-2, -1)) - size - log_det)

    def expected_log(self, site: Site) -> Tensor:
        """E_q[c + hᵀv - ½ vᵀG v], `[*B]`."""
        quadratic = (self.root * (site.G @ self.root)).sum((-2, -1))
        quadratic = quadratic + (self.mean * matvec(site.G, self.mean)).sum(-1)
        return site.c + (site.h * self.mean).sum(-1) - 0.5 * quadratic


class FreeForm(nn.Module):
    """A trainable posterior.

    Args:
        start: Its initial value, for instance the posterior given the past.
    """

    def __init__(self, start: Posterior) -> None:
        super().__init__()
        self.mean = nn.Parameter(start.mean.detach().clone())
        self.root = nn.Parameter(start.root.detach().clone())

    @torch.no_grad()
    def restart(self, posterior: Posterior) -> None:
        """Set the parameters to those of another posterior, in place."""
        self.mean.copy_(posterior.mean)
        self.root.copy_(posterior.root)

    def forward(self) -> Posterior:
        """The posterior of the present parameters."""
        return Posterior(self.mean, self.root.triu())
