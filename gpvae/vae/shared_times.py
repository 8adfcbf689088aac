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
from gpvae.utils.devices import moved
from gpvae.vae.symmetric import Triangle

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
        residual: kff - qff, the prior variance of f at each time given the inducing variables, `[L, T]`.
        times: `[T]`.
    """

    frame: Frame
    a: Tensor
    prior: Tensor
    residual: Tensor
    times: Tensor

    @classmethod
    def of(cls, frame: Frame, times: Tensor) -> "TimeFeatures":
        """The features of times `[T]`."""
        a, prior = frame.features(times[:, None])
        return cls(frame, a, prior, residual_variance(a, prior), times)

    def to(self, device: torch.device, dtype: torch.dtype) -> "TimeFeatures":
        """The same features on another device, in another floating point type; times stay where they are."""
        a, prior, residual = (moved(part, device, dtype) for part in (self.a, self.prior, self.residual))
        return replace(self, a=a, prior=prior, residual=residual)

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

    def values(self, m: Tensor) -> Tensor:
        """a_tᵀ m at each time, `[B, L, T]`, for vectors `[B, L, M]`."""
        return (m.transpose(0, 1) @ self.a).transpose(0, 1)

    def weighted_images(self, S: Tensor, weights: Tensor) -> Tensor:
        """Σ_b w_bt S_b a_t, `[L, M, T]`, for matrices `[B, L, M, M]` and weights `[B, L, T]`."""
        chunks = zip(self._chunks(S.transpose(0, 1)), self._chunks(weights.transpose(0, 1)), strict=True)
        return torch.cat([(_batch_product(part, a) * w[:, :, None]).sum(1) for (a, part), (_, w) in chunks])

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
        return self._triangle.matrix(sums).transpose(0, 1)

    def quadratic(self, S: Tensor) -> Tensor:
        """a_tᵀ S a_t at each time, `[B, L, T]`, for symmetric matrices `[B, L, M, M]`."""
        S = S.transpose(0, 1)
        if self._pairs is None:
            parts = [(a[:, None] * _batch_product(part.to(a), a)).sum(-2) for a, part in self._chunks(S)]
            return torch.cat(parts).transpose(0, 1)
        return (self._triangle.elements(S, self.a.dtype) @ self._pairs).transpose(0, 1)

    def marginals(self, q: Posterior) -> tuple[Tensor, Tensor]:
        """Mean and variance of f at each time, `[B, L, T]`: aᵀ mean, and kff - |a|² + aᵀ S a."""
        if q.mean.ndim != 3:
            return q.marginals(self.a, self.prior)
        if self._pairs is None:
            halves = (_batch_product(root, a) for a, root in self._chunks(q.root.mT.transpose(0, 1)))
            spread = torch.cat([(half * half).sum(-2) for half in halves]).transpose(0, 1)
        else:
            spread = self.quadratic(q.root @ q.root.mT)
        return self.values(q.mean), self.residual + spread

    def latent(self, q: Posterior) -> Normal:
        """The marginals of f at each time, `[B, L, T]`."""
        mean, var = self.marginals(q)
        return Normal(mean, var.sqrt())

    def _chunks(self, values: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Features, and values of each series, `[L, B, ...]`, for some latent dimensions at a time."""
        latent, size, times = self.a.shape
        on_host = self.a.device.type == "cpu"  # where caches are small
        chunk_size = max(1, MAX_ELEMENTS // max(1, values.shape[1] * size * times)) if on_host else latent
        return zip(self.a.split(chunk_size), values.split(chunk_size), strict=True)

    @cached_property
    def _triangle(self) -> Triangle:
        """The pairs i <= j."""
        return Triangle(self.a.shape[-2], self.a.device)

    @cached_property
    def _pairs(self) -> Tensor | None:
        """a_ti a_tj, `[L, P, T]`; None if there are too many, or they change from step to step."""
        latent, size, times = self.a.shape
        if self.a.requires_grad or latent * size * (size + 1) // 2 * times > MAX_PAIRS:
            return None
        i, j = self._triangle.rows, self._triangle.columns
        return self.a[..., i, :] * self.a[..., j, :]


def _batch_product(A: Tensor, C: Tensor) -> Tensor:
    """A C as one large product, for matrices A of each series, `[L, B, M, N]`, and a common C, `[L, N, K]`."""
    return (A.flatten(1, 2) @ C).unflatten(1, A.shape[1:3])
