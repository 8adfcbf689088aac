"""The posterior of a task, given the past and the pseudo-observations of an encoder."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gpvae.sites import Site
from gpvae.utils.linalg import matvec
from gpvae.vae.centred_site import CentredSite
from gpvae.vae.shared_times import TimeFeatures


@dataclass(frozen=True)
class TaskPosterior:
    """q(f) at each time of a task, and what the bound has beside the likelihood.

    Attributes:
        mean: `[B, L, T]`.
        stddev: `[B, L, T]`.
        prior_terms: -KL(q ‖ p) + E_q[log old site] of each series, `[B]`, in the precision of the past.
    """

    mean: Tensor
    stddev: Tensor
    prior_terms: Tensor

    @classmethod
    def of(cls, features: TimeFeatures, past: Site, y: Tensor, precision: Tensor) -> "TaskPosterior":
        """The posterior q(v) = N(m, S) ∝ N(v; 0, I) · past · task of each series and latent dimension, at the times.

        Sums over times are in the floating point type of the features; matrices are inverted in that of the past.

        Args:
            features: The features a of the times.
            past: The old sites in the frame of the task, `[B, L]`.
            y: Pseudo-observations of f, `[B, L, T]`.
            precision: Their precisions.
        """
        y, precision = y.to(features.a), precision.to(features.a)
        centre = past.mean if isinstance(past, CentredSite) else None
        y = y if centre is None else y - centre
        with torch.autocast(y.device.type, enabled=False):
            inputs = features.a, features.residual, y, precision, past.c, past.h, past.G, features
            mean, stddev, terms = _Infer.apply(*inputs)  # type: ignore[no-untyped-call]
        return cls(mean if centre is None else mean + centre, stddev, terms)

    def to(self, device: torch.device) -> "TaskPosterior":
        """The same posterior on another device."""
        return TaskPosterior(self.mean.to(device), self.stddev.to(device), self.prior_terms.to(device))

    def sample(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Draws of f at each time, from standard normal draws `[B, L, K, T]`.

        Returns:
            The first draw, `[B, L, T]`, which is trained, and all of them, `[K, B, L, T]`, which are not.
        """
        return _Sample.apply(self.mean, self.stddev, noise)  # type: ignore[no-untyped-call]


class _Sample(torch.autograd.Function):
    """f_k = μ + σ ε_k, of which only the first draw has derivatives: dμ = df_1, dσ = ε_1 df_1."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, stddev: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ANN401
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(noise[:, :, 0])
        draws = torch.addcmul(mean[:, :, None], stddev[:, :, None], noise).movedim(2, 0)
        ctx.mark_non_differentiable(draws)
        return draws[0], draws

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: None) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        (noise,) = ctx.saved_tensors
        return gradient, gradient * noise, None


class _Infer(torch.autograd.Function):
    """μ = aᵀm, σ = √(r + s) with s = aᵀS a, and the prior terms, where S = (I + G)⁻¹ and m = S h.

    With residual variances r, weights w and observations y, G = past + Σ w a aᵀ and h = past + Σ w y a. The prior terms
    need no sums over matrices: if Z is the integral of prior, past and task, they are log Z - E_q[log task], with
    log Z = c + ½ hᵀm - ½ log det(I + G) and E_q[log task] = Σ w (y μ - ½ (s + μ²)). The parts with y in hᵀm cancel
    half of those in the sum, so they are c + ½ h₀ᵀm - ½ log det(I + G) + ½ Σ w (s - μ (y - μ)), with h₀ of the past.

    Log Z and E_q[log task] have the same derivatives by w and y for fixed q, so the prior terms P depend on these by μ
    and s only: dP = Σ ½ w ds - w (y - μ) dμ. The other derivatives are dσ = ds / 2σ, dm = S (dh - dG m) and
    dS = -S dG S. They are written out here, which takes a third of the operations that differentiating each operation
    would take.

    If I + G is not positive definite, the prior terms are NaN; nothing waits to find out.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        a: Tensor,
        residual: Tensor,
        y: Tensor,
        w: Tensor,
        c: Tensor,
        h: Tensor,
        G: Tensor,
        features: TimeFeatures,
    ) -> tuple[Tensor, Tensor, Tensor]:
        P = G + features.weighted_outer_sum(w)
        P.diagonal(dim1=-2, dim2=-1).add_(1)
        L, info = torch.linalg.cholesky_ex(P)
        S = torch.cholesky_inverse(L)
        m = matvec(S, h + features.weighted_sum(w * y))
        half_log_det = L.diagonal(dim1=-2, dim2=-1).log().sum(-1).masked_fill_(info > 0, torch.nan)
        mean, spread = features.values(m.to(a)), features.quadratic(S)
        stddev = (residual + spread).sqrt_()
        error = y - mean
        weighted = w * error
        of_past = torch.add((c - half_log_det).sum(-1), (h * m).sum((-2, -1)), alpha=0.5)
        of_task = torch.addcmul(weighted * mean, w, spread, value=-1).sum((-2, -1), dtype=of_past.dtype)
        ctx.features, ctx.past = features, (c.shape, h.shape, G.shape)
        ctx.save_for_backward(S, m, w, error, weighted, stddev)
        return mean, stddev, torch.sub(of_past, of_task, alpha=0.5)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,  # noqa: ANN401
        by_mean: Tensor,
        by_stddev: Tensor,
        by_terms: Tensor,
    ) -> tuple[Tensor | None, ...]:
        S, m, w, error, weighted, stddev = ctx.saved_tensors
        features: TimeFeatures = ctx.features
        of_terms = by_terms.to(w)[:, None, None]
        by_m = features.weighted_sum(torch.addcmul(by_mean, of_terms, weighted, value=-1))
        twice_by_spread = by_stddev / stddev  # of which D takes one half
        twice_by_S = features.weighted_outer_sum(torch.addcmul(twice_by_spread, of_terms, w))
        by_m = by_m.to(S, memory_format=torch.contiguous_format)  # as products need it, and D as well
        D = torch.mul(twice_by_S, -0.5, out=S.new_empty(S.shape))
        by_h = matvec(S, by_m)
        along = features.values(by_h.to(w))
        by_a: Tensor | None = None
        by_residual: Tensor | None = None
        if any(ctx.needs_input_grad[:2]):
            by_spread = 0.5 * twice_by_spread
            rows = torch.cat([m, by_h]).transpose(0, 1).mT
            by_quadratic, of_spread = features.of_inverse(S, D, w, by_spread)
            by_a = rows @ torch.cat([by_mean - w * along, weighted]).transpose(0, 1) + 2 * of_spread
            by_residual = by_spread.sum(0)
        else:
            by_quadratic = features.quadratic(S @ D @ S)
        by_w = torch.addcmul(by_quadratic, along, error)
        by_past: tuple[Tensor | None, ...] = (None, None, None)
        if any(ctx.needs_input_grad[4:7]):
            of_terms = by_terms[:, None]
            outer = by_h[..., None] * m[..., None, :]
            moment = S + m[..., None] * m[..., None, :]
            by_G = S @ D @ S - 0.5 * (outer + outer.mT) - 0.5 * of_terms[..., None, None] * moment
            parts = of_terms.expand(m.shape[:-1]), by_h + of_terms[..., None] * m, by_G
            by_past = tuple(part.sum_to_size(shape) for part, shape in zip(parts, ctx.past, strict=True))
        return by_a, by_residual, w * along, by_w, *by_past, None
