"""Functions that are finite sums of chosen cosines: the prior contains exactly what M numbers can represent."""

import math

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.inducing.base import check_dim
from gpvae.inducing.chosen import NUM_MODULATIONS, ChosenCosines, _pivots
from gpvae.kernels import covariance, variance
from gpvae.utils.linalg import INITIAL_JITTER, cholesky, identity_like, solve_lower
from gpvae.utils.resizable import assign

#: Largest number of elements of a kernel matrix at the quadrature nodes, 1 GB for all latents.
MAX_ELEMENTS = 2**27
#: Largest number of quadrature nodes.
MAX_NODES = 4096


class CosineExpansion(ChosenCosines):
    """f = Σ_m u_m φ_m, an expansion in M chosen cosines with Gaussian coefficients u.

    The coefficients have the covariance of the kernel's least-squares projection onto the cosines. The part of a
    function that the cosines do not span is not in the prior. For the latents of a GP-VAE, this part becomes noise of
    the observations, rather than a variance of latents that no data reduce.

    All latents share the cosines, which are those of greatest variance summed over latents. So their whitened features
    are a = Lᵀφ with the same φ, and a precision Σ w a aᵀ is Lᵀ (Σ w φφᵀ) L: it follows from the weights w along the
    stream.

    Beyond the horizon, f is the prediction of the kernel given u.

    Args:
        num_inducing: Number of cosines M.
        origin: Where the stream begins; the first input seen if not given.
        horizon: Planned length of the stream; the length of the first task if not given.
        periods: Known periods, such as the 24 hours of a day.
    """

    def _choose(self, K: Tensor) -> Tensor:
        """The candidates that all latents keep, given their covariances `[*L, D, D]`."""
        return _pivots(K.reshape(-1, *K.shape[-2:]).sum(0), self.num_inducing)

    @torch.no_grad()
    def adapt_to_kernel(self, kernel: Kernel) -> None:
        """Choose the cosines as `ChosenCosines` does, and make u their least-squares coefficients, so that Φᵀφ = I."""
        before = self.chosen_by.clone(), self.chosen.clone()
        super().adapt_to_kernel(kernel)
        if torch.equal(before[0], self.chosen_by) and torch.equal(before[1], self.chosen):
            return
        gram = self.Phi.mT @ self.waves(self.nodes)
        gram = (gram + gram.mT) / 2 + math.sqrt(INITIAL_JITTER[gram.dtype]) * identity_like(gram)
        assign(self.Phi, torch.linalg.solve(gram, self.Phi.mT).mT)

    def waves(self, x: Tensor) -> Tensor:
        """φ_m(x), `[N, M]`, at inputs `[N, 1]` within the horizon."""
        length = self.length.clamp_min(torch.finfo(self.length.dtype).tiny)
        plain = self.measure.basis((x[..., 0] - self.origin) / length)
        return self._with_waves(x[..., 0], plain)[..., self.chosen]

    def kuf(self, kernel: Kernel, x: Tensor) -> Tensor:
        """kuu φ(x) within the horizon, Φᵀ k(nodes, x) beyond it."""
        self.require_started()
        check_dim(self, x, 1)
        inside = self._inside(x)[..., None, :]
        return torch.where(inside, self.kuu(kernel) @ self.waves(x).mT, super().kuf(kernel, x))

    def kff(self, kernel: Kernel, x: Tensor, other: Tensor | None = None) -> Tensor:
        """Covariances of the expansion, and of the kernel where both inputs are beyond the horizon."""
        other = x if other is None else other
        L = cholesky(self.kuu(kernel))
        (a, _), (b, _) = self.features(kernel, L, x), self.features(kernel, L, other)
        beyond = ~self._inside(x)[..., :, None] & ~self._inside(other)[..., None, :]
        return torch.where(beyond, covariance(kernel, x, other), a.mT @ b)

    def features(self, kernel: Kernel, L: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Lᵀφ and its squared norm within the horizon, those of the kernel beyond it."""
        check_dim(self, x, 1)
        a = L.mT @ self.waves(x).mT
        prior, inside = (a**2).sum(-2), self._inside(x)
        if bool(inside.all()):
            return a, prior
        beyond = solve_lower(L, super().kuf(kernel, x))
        return torch.where(inside[..., None, :], a, beyond), torch.where(inside, prior, variance(kernel, x))

    def _inside(self, x: Tensor) -> Tensor:
        """Which inputs are within the horizon, `[N]`."""
        margin = 1e-9 * (self.length + self.end.abs())
        return (x[..., 0] >= self.origin - margin) & (x[..., 0] <= self.end + margin)

    def _candidates(self, num_nodes: int) -> tuple[Tensor, Tensor]:
        """Midpoints s_q `[Q]`, at which cosines are exactly orthogonal, and all candidates there, `[Q, D]`."""
        positions = (torch.arange(num_nodes).to(self.end) + 0.5) / num_nodes
        x = self.origin + self.length * positions
        return positions, self._with_waves(x, self.measure.basis(positions)) / num_nodes

    def _num_nodes(self, kernel: Kernel) -> int:
        """Enough nodes for the product of any two candidates, as far as memory allows."""
        fastest = max((2 * float(self.length) / period + NUM_MODULATIONS for period in self.periods), default=0.0)
        enough = 1.25 * max(self.num_inducing, fastest)
        limit = min(MAX_NODES, math.isqrt(MAX_ELEMENTS // max(1, math.prod(kernel.batch_shape))))
        return 32 * math.ceil(min(enough + 24, limit) / 32)
