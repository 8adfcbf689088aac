"""Fantasies: hypothetical observations, used by look-ahead acquisition functions."""

from dataclasses import dataclass

import torch
from gpytorch.distributions import MultivariateNormal
from linear_operator import to_linear_operator
from torch import Tensor

from gpvae.online_gp import OnlineGP
from gpvae.utils.linalg import cholesky, matvec, solve_lower


@dataclass(frozen=True)
class Fantasies:
    """Hypothetical observations, on which a posterior is conditioned exactly.

    Attributes:
        x: Points `[*B, n, d]`.
        y: Values `[*B, n, m]`.
        noise: Noise variances `[*B, n, m]`.
    """

    x: Tensor
    y: Tensor
    noise: Tensor

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", self.noise.expand(self.y.shape))

    @property
    def batch_shape(self) -> torch.Size:
        """`*B`."""
        return torch.broadcast_shapes(self.x.shape[:-2], self.y.shape[:-2])

    def followed_by(self, others: "Fantasies") -> "Fantasies":
        """These and others after them; batches broadcast."""
        batch = torch.broadcast_shapes(self.batch_shape, others.batch_shape)
        return Fantasies(
            _joined(batch, self.x, others.x), _joined(batch, self.y, others.y), _joined(batch, self.noise, others.noise)
        )

    def posterior(self, gp: OnlineGP, x: Tensor) -> MultivariateNormal:
        """The posterior of f at points `[*B, q, d]`, given what was learnt and these observations.

        Args:
            gp: The Gaussian process that has learnt the real observations.
            x: The points.
        """
        batch, n = torch.broadcast_shapes(self.batch_shape, x.shape[:-2]), self.x.shape[-2]
        f = gp.latent(_joined(batch, self.x, x), joint=True)
        assert isinstance(f, MultivariateNormal)
        mean, K = f.mean, f.covariance_matrix
        y, noise = (of_function(gp, part.expand(*batch, *part.shape[-2:])) for part in (self.y, self.noise))
        L = cholesky(K[..., :n, :n] + torch.diag_embed(noise), jitter=0.0)
        a = solve_lower(L, K[..., :n, n:])
        shift = matvec(a.mT, solve_lower(L, (y - mean[..., :n])[..., None])[..., 0])
        return MultivariateNormal(mean[..., n:] + shift, to_linear_operator(K[..., n:, n:] - a.mT @ a))


def of_function(gp: OnlineGP, values: Tensor) -> Tensor:
    """Values of outputs `[*B, n, m]` in the shape of f: `[*B, m, n]`, or `[*B, n]` of the only output."""
    return values.mT if gp.kernel.batch_shape else values[..., 0]


def _joined(batch: torch.Size, *parts: Tensor) -> Tensor:
    """Points one after the other, with one batch shape."""
    return torch.cat([part.expand(*batch, *part.shape[-2:]) for part in parts], -2)
