"""Features of times that all series share, and the sums over times that sites and marginals need.

The sum Σ_t w_t a_t a_tᵀ, with weights for each series, is a product of the weights and the pairs a_ti a_tj, i <= j. The
pairs are common to all series and, as long as the features do not change, computed once. So is the variance a_tᵀ S a_t.
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

#: Maximum number of elements of the pairs; if there are more, sums are computed for each series.
MAX_PAIRS = 2**27
#: Maximum number of elements `[L, B, M, T]` computed at a time: 1 MB, which fits into the cache of a core.
MAX_ELEMENTS = 2**17
#: Singular values below this fraction of the largest count as zero.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class TimeFeatures:
    """Whitened features of some times.

    Attributes:
        frame: The frame.
        a: Features L⁻¹ kuf, `[L, M, T]`, or condensed ones, `[L, r, T]`.
        prior: Prior variances of f, `[L, T]`.
        times: `[T]`.
    """

    frame: Frame
    a: Tensor
    prior: Tensor
    times: Tensor

    @classmethod
    def of(cls, frame: Frame, times: Tensor) -> "TimeFeatures":
        """The features of times `[T]`."""
        return cls(frame, *frame.features(times[:, None]), times)

    def condensed(self) -> tuple["TimeFeatures", Tensor]:
        """The features c of the same times with respect to the variables w = Uᵀv, where a = U c has rank r.

        A task is a short piece of the stream, so r << M. With past sites projected by U, q(w) is the marginal of q(v)
        and all bounds are the same, up to `RANK_TOLERANCE`.

        Returns:
            The features c, `[L, r, T]`, and U, `[L, M, r]`.
        """
        U, sizes, _ = torch.linalg.svd(self.a, full_matrices=False)
        U = U[..., : max(1, int((sizes > RANK_TOLERANCE * sizes.amax()).sum(-1).amax()))]
        return replace(self, a=U.mT @ self.a), U

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """Σ_t w_t a_t, `[B, L, M]`, for weights `[B, L, T]`."""
        return (weights.transpose(0, 1) @ self.a.mT).transpose(0, 1)

    def weighted_outer_sum(self, weights: Tensor, *, once: bool = False) -> Tensor:
        """Σ_t w_t a_t a_tᵀ, `[B, L, M, M]`, for weights `[B, L, T]`.

        Args:
            weights: The weights.
            once: There are no other sums with these features, for which the pairs would be worth their computation.
        """
        if once or self._pairs is None:
            chunks = self._chunks(weights.transpose(0, 1).contiguous())
            return torch.cat([_batch_product(a[:, None] * w[..., None, :], a.mT) for a, w in chunks]).transpose(0, 1)
        sums = weights.transpose(0, 1) @ self._pairs.mT  # [L, B, P]
        return sums[..., self._pair_index].transpose(0, 1)

    def marginals(self, q: Posterior) -> tuple[Tensor, Tensor]:
        """Mean and variance of f at each time, `[B, L, T]`: aᵀ mean, and kff - |a|² + aᵀ S a."""
        if q.mean.ndim != 3:
            return q.marginals(self.a, self.prior)
        if self._pairs is None:
            halves = (_batch_product(root, a) for a, root in self._chunks(q.root.mT.transpose(0, 1)))
            spread = torch.cat([(half * half).sum(-2) for half in halves]).transpose(0, 1)
        else:
            S = q.root @ q.root.mT
            i, j = self._upper_triangle
            both = S[..., i, j] * torch.where(i == j, 1.0, 2.0)  # [B, L, P]
            spread = (both.transpose(0, 1) @ self._pairs).transpose(0, 1)
        return (q.mean.transpose(0, 1) @ self.a).transpose(0, 1), self.residual + spread

    def latent(self, q: Posterior) -> Normal:
        """The marginals of f at each time, `[B, L, T]`."""
        mean, var = self.marginals(q)
        return Normal(mean, var.sqrt())

    @cached_property
    def residual(self) -> Tensor:
        """kff - qff, the prior variance of f at each time given the inducing variables, `[L, T]`."""
        return residual_variance(self.a, self.prior)

    def _chunks(self, values: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Features, and values of each series, `[L, B, ...]`, for some latent dimensions at a time."""
        _, size, times = self.a.shape
        chunk_size = max(1, MAX_ELEMENTS // max(1, values.shape[1] * size * times))
        return zip(self.a.split(chunk_size), values.split(chunk_size), strict=True)

    @cached_property
    def _upper_triangle(self) -> tuple[Tensor, Tensor]:
        """Indices of the pairs i <= j."""
        size = self.a.shape[-2]
        i, j = torch.triu_indices(size, size, device=self.a.device)
        return i, j

    @cached_property
    def _pair_index(self) -> Tensor:
        """The index of the pair of each element of a symmetric matrix, `[M, M]`."""
        i, j = self._upper_triangle
        index = torch.empty(self.a.shape[-2], self.a.shape[-2], dtype=torch.int64, device=self.a.device)
        index[i, j] = index[j, i] = torch.arange(len(i), device=self.a.device)
        return index

    @cached_property
    def _pairs(self) -> Tensor | None:
        """a_ti a_tj, `[L, P, T]`; None if there are too many, or they change from step to step."""
        latent, size, times = self.a.shape
        if self.a.requires_grad or latent * size * (size + 1) // 2 * times > MAX_PAIRS:
            return None
        i, j = self._upper_triangle
        return self.a[..., i, :] * self.a[..., j, :]


def _batch_product(A: Tensor, C: Tensor) -> Tensor:
    """A C as one large product, for matrices A of each series, `[L, B, M, N]`, and a common C, `[L, N, K]`."""
    return (A.flatten(1, 2) @ C).unflatten(1, A.shape[1:3])
