"""Times, seen from the inducing variables: the sums over them that many series have in common.

All series share the times, so what a site needs, Σ_t w_t a_t a_tᵀ with a weight for each series, is a product of the
weights with the pairs a_ti a_tj, i <= j, which are computed once, if the features stay. So is the variance a_tᵀ S a_t.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.distributions import Normal

from gpvae.posteriors import Posterior
from gpvae.sites import residual_variance
from gpvae.streaming import Frame

#: Maximum number of elements of the pairs; where there are more, sums are computed for each series.
MAX_PAIRS = 2**27
#: Elements `[L, B, M, T]` that are computed at a time: 1 MB, which fits into the cache of a core.
AT_ONCE = 2**17
#: Directions whose singular value is below this share of the largest are left out of a condensed view.
SPAN = 1e-9


@dataclass(frozen=True)
class View:
    """Some times, seen from the inducing variables of a task.

    Attributes:
        frame: The frame.
        a: Features L⁻¹ kuf, `[L, M, T]`, or c of them.
        prior: Prior variances of f, `[L, T]`.
        times: `[T]`.
    """

    frame: Frame
    a: Tensor
    prior: Tensor
    times: Tensor

    @classmethod
    def of(cls, frame: Frame, times: Tensor) -> "View":
        """Look at times `[T]`."""
        return cls(frame, *frame.features(times[:, None]), times)

    def condensed(self) -> tuple["View", Tensor]:
        """The same times, seen from as few variables w = Uᵀv as the features at these times span.

        A task is a short piece of the stream, so it touches only some directions of v: a = U c with U of rank r << M.
        With the past seen through U, q(w) and all bounds are those of v; nothing is approximated beyond `SPAN`.

        Returns:
            The view with features c, `[L, r, T]`, and U, `[L, M, r]`.
        """
        U, sizes, _ = torch.linalg.svd(self.a, full_matrices=False)
        U = U[..., : max(1, int((sizes > SPAN * sizes.amax()).sum(-1).amax()))]
        return replace(self, a=U.mT @ self.a), U

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """Σ_t w_t a_t, `[B, L, M]`, for weights `[B, L, T]`."""
        return (weights.transpose(0, 1) @ self.a.mT).transpose(0, 1)

    def weighted_outer_sum(self, weights: Tensor) -> Tensor:
        """Σ_t w_t a_t a_tᵀ, `[B, L, M, M]`, for weights `[B, L, T]`."""
        if self._pairs is None:
            parts = self._parts(weights.transpose(0, 1).contiguous())
            return torch.cat([self._at_once(a[:, None] * w[..., None, :], a.mT) for a, w in parts]).transpose(0, 1)
        sums = weights.transpose(0, 1) @ self._pairs.mT  # [L, B, P]
        return sums[..., self._place].transpose(0, 1)

    def marginals(self, q: Posterior) -> tuple[Tensor, Tensor]:
        """Mean and variance of f at each time, `[B, L, T]`: aᵀ mean, and kff - |a|² + aᵀ S a."""
        if q.mean.ndim != 3:
            return q.marginals(self.a, self.prior)
        if self._pairs is None:
            halves = (self._at_once(root, a) for a, root in self._parts(q.root.mT.transpose(0, 1)))
            spread = torch.cat([(half * half).sum(-2) for half in halves]).transpose(0, 1)
        else:
            S = q.root @ q.root.mT
            i, j = self._upper
            both = S[..., i, j] * torch.where(i == j, 1.0, 2.0)  # [B, L, P]
            spread = (both.transpose(0, 1) @ self._pairs).transpose(0, 1)
        return (q.mean.transpose(0, 1) @ self.a).transpose(0, 1), self.residual + spread

    def latent(self, q: Posterior) -> Normal:
        """The marginals of f at each time, `[B, L, T]`."""
        mean, var = self.marginals(q)
        return Normal(mean, var.sqrt())

    @cached_property
    def residual(self) -> Tensor:
        """kff - qff, the prior variance of f at each time that the variables leave open, `[L, T]`."""
        return residual_variance(self.a, self.prior)

    def _parts(self, of_series: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Features and something of each series, `[L, B, ...]`, of some latent dimensions at a time."""
        _, size, times = self.a.shape
        some = max(1, AT_ONCE // max(1, of_series.shape[1] * size * times))
        return zip(self.a.split(some), of_series.split(some), strict=True)

    @staticmethod
    def _at_once(A: Tensor, C: Tensor) -> Tensor:
        """A C for matrices of each series, `[L, B, M, N]`, and a common one, `[L, N, K]`: one large product for all."""
        return (A.flatten(1, 2) @ C).unflatten(1, A.shape[1:3])

    @cached_property
    def _upper(self) -> tuple[Tensor, Tensor]:
        """Indices of the pairs i <= j."""
        size = self.a.shape[-2]
        i, j = torch.triu_indices(size, size, device=self.a.device)
        return i, j

    @cached_property
    def _place(self) -> Tensor:
        """Which pair belongs at each place of a symmetric matrix, `[M, M]`."""
        i, j = self._upper
        place = torch.empty(self.a.shape[-2], self.a.shape[-2], dtype=torch.int64, device=self.a.device)
        place[i, j] = place[j, i] = torch.arange(len(i), device=self.a.device)
        return place

    @cached_property
    def _pairs(self) -> Tensor | None:
        """a_ti a_tj, `[L, P, T]`, unless they are too many, or change from step to step."""
        latent, size, times = self.a.shape
        if self.a.requires_grad or latent * size * (size + 1) // 2 * times > MAX_PAIRS:
            return None
        i, j = self._upper
        return self.a[..., i, :] * self.a[..., j, :]
