"""Features of times that all series share, and the sums over times that sites and marginals need."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpvae.posteriors import Posterior
from gpvae.sites import residual_variance
from gpvae.streaming import Frame
from gpvae.utils.devices import moved

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

    def of_inverse(self, S: Tensor, D: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """a_tᵀ S D S a_t, `[B, L, T]`, and Σ_b (v_bt S_b + w_bt S_b D_b S_b) a_t, `[L, M, T]`.

        For S = (I + Σ w a aᵀ)⁻¹ and a function with derivatives -D by S and v by aᵀ S a, these are its derivatives by
        w, and half of those by a. S D S is not computed.

        Args:
            S: Matrices `[B, L, M, M]`.
            D: Symmetric matrices `[B, L, M, M]`.
            w: Weights `[B, L, T]`.
            v: Weights `[B, L, T]`.
        """

        def compute(a: Tensor, S: Tensor, D: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
            images = _batch_product(S, a)
            inner = D @ images
            return (images * inner).sum(-2), (v[:, :, None] * images + w[:, :, None] * (S @ inner)).sum(1)

        along, sums = self._by_latents(compute, S, D, w, v)
        return along.transpose(0, 1), sums

    def weighted_outer_sum(self, weights: Tensor) -> Tensor:
        """Σ_t w_t a_t a_tᵀ, `[B, L, M, M]`, for weights `[B, L, T]`."""

        def compute(a: Tensor, w: Tensor) -> tuple[Tensor]:
            shape = *w.shape[:2], *a.shape[1:]
            weighted = torch.mul(a[:, None], w[..., None, :], out=a.new_empty(shape))  # laid out for a large product
            return (_batch_product(weighted, a.mT),)

        return self._by_latents(compute, weights)[0].transpose(0, 1)

    def quadratic(self, S: Tensor) -> Tensor:
        """a_tᵀ S a_t at each time, `[B, L, T]`, for matrices `[B, L, M, M]`."""

        def compute(a: Tensor, S: Tensor) -> tuple[Tensor]:
            S = S.to(a, memory_format=torch.contiguous_format)  # as a large product needs it
            return ((a[:, None] * _batch_product(S, a)).sum(-2),)

        return self._by_latents(compute, S)[0].transpose(0, 1)

    def marginals(self, q: Posterior) -> tuple[Tensor, Tensor]:
        """Mean and variance of f at each time, `[B, L, T]`: aᵀ mean, and kff - |a|² + aᵀ S a.

        If all series have one covariance, so that the root is `[1, L, M, M]`, the variance has one row.
        """
        if q.mean.ndim != 3:
            return q.marginals(self.a, self.prior)
        (spread,) = self._by_latents(lambda a, root: (_batch_product(root.mT, a).square().sum(-2),), q.root)
        return self.values(q.mean), self.residual + spread.transpose(0, 1)

    def _by_latents(self, compute: Callable[..., tuple[Tensor, ...]], *values: Tensor) -> tuple[Tensor, ...]:
        """Results `[L, ...]` of features and values `[B, L, ...]`, computed for some latent dimensions at a time.

        Args:
            compute: Computes the results, given features and values `[L, B, ...]`.
            values: The values.
        """
        latent, size, times = self.a.shape
        parts = self.a, *(value.transpose(0, 1) for value in values)
        chunk_size = max(1, MAX_ELEMENTS // max(1, values[0].shape[0] * size * times))
        if chunk_size >= latent or self.a.device.type != "cpu":  # where caches are large
            return compute(*parts)
        chunks = zip(*(part.split(chunk_size) for part in parts), strict=True)
        return tuple(map(torch.cat, zip(*(compute(*chunk) for chunk in chunks), strict=True)))


def _batch_product(A: Tensor, C: Tensor) -> Tensor:
    """A C as one large product, for matrices A of each series, `[L, B, M, N]`, and a common C, `[L, N, K]`."""
    return (A.flatten(1, 2) @ C).unflatten(1, A.shape[1:3])
