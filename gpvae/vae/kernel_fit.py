"""Kernel and noise of series, fitted to the first task by maximum marginal likelihood."""

from typing import Any

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor

from gpvae.hyperparameters.marginal_likelihood import ascend, log_prior
from gpvae.hyperparameters.search_space import search_space, set_values
from gpvae.kernels import covariance
from gpvae.utils.linalg import cholesky, log_det

#: Maximum number of times, the first of the task, and of series, evenly spread, that the fit uses.
MAX_TIMES, MAX_SERIES = 400, 32
#: Lengthscale to start from, relative to the extent of the times.
START_LENGTHSCALE = 0.1
#: A value of less relative precision counts as missing.
MIN_PRECISION = 0.5
#: Noise variance of a missing value: it says nothing.
MISSING = 1e8


class LogEvidence(torch.autograd.Function):
    """-½ Σ_l (Σ_b s_bl y_blᵀ K_l⁻¹ y_bl + log det K_l), without a pass back through the Cholesky factor.

    The gradient is ½ (Σ_b s_bl α_bl α_blᵀ - K_l⁻¹), α = K⁻¹ y.
    """

    @staticmethod
    def forward(ctx: Any, K: Tensor, y: Tensor, shares: Tensor) -> Tensor:  # noqa: ANN401
        """The log evidence.

        Args:
            ctx: Keeps what the gradient needs.
            K: Covariances with noise, `[L, T, T]`.
            y: Observations, `[L, T, B]`.
            shares: s, weights of series, `[B, L]`.
        """
        L = cholesky(K, jitter=0.0)
        alpha = torch.cholesky_solve(y, L)
        ctx.save_for_backward(L, alpha, shares)
        return -0.5 * ((y * alpha).sum(-2) * shares.mT).sum() - 0.5 * log_det(L).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        """The gradient by K."""
        L, alpha, shares = ctx.saved_tensors
        outer = (alpha * shares.mT[:, None]) @ alpha.mT
        return 0.5 * gradient * (outer - torch.cholesky_inverse(L)), None, None


def fit_series(
    kernel: Kernel,
    likelihood: GaussianLikelihood,
    times: Tensor,
    y: Tensor,
    precision: Tensor,
    *,
    max_iterations: int = 100,
) -> None:
    """Maximise the exact log evidence over kernel and noise, in place: the same for all series, one for each latent.

    The times of a latent are those of the series that has most of them; series that lack any are left out, so that
    one factorisation serves all.

    Args:
        kernel: A kernel of batch shape `[L]`.
        likelihood: A likelihood of that batch shape.
        times: `[T]`.
        y: Observations of the latents, `[B, L, T]`.
        precision: Their precisions relative to those of the likelihood's noise, `[B or 1, L, T]`.
        max_iterations: Maximum number of iterations of L-BFGS.
    """
    some = torch.linspace(0, len(y) - 1, min(len(y), MAX_SERIES)).round().long().to(y.device)
    x, y, seen = times[:MAX_TIMES, None], y[some, :, :MAX_TIMES], precision.expand_as(y)[some, :, :MAX_TIMES]
    seen = seen >= MIN_PRECISION
    fullest = seen.sum(-1).argmax(0)
    at = seen[fullest, torch.arange(len(fullest), device=y.device)]  # times of each latent, [L, T]
    shares = (seen | ~at).all(-1).to(y)
    shares = shares / shares.sum(0)  # of each series in the mean over those that take part, [B, L]
    values = torch.where(at, y, 0.0).permute(1, 2, 0)  # [L, T, B]
    lags, where = (x - x.mT).abs().unique(return_inverse=True)  # few, if times are evenly spaced

    def log_evidence() -> Tensor:
        by_lag = covariance(kernel, lags[:, None], lags.new_zeros(1, 1))[..., 0]  # kernels of time are stationary
        K = by_lag.index_select(-1, where.flatten()).unflatten(-1, where.shape)
        noise = torch.where(at, likelihood.noise, MISSING)
        return LogEvidence.apply(K + torch.diag_embed(noise), values, shares)  # type: ignore[no-untyped-call]

    power = float((values**2).mean()) or 1.0
    hyperparameters = list(search_space(kernel, likelihood, x, power, shortest=0.5 / len(x)))
    starts = [START_LENGTHSCALE * h.scale if h.name == "lengthscale" else h.scale for h in hyperparameters]
    set_values(hyperparameters, starts)
    ascend(
        hyperparameters,
        lambda: (log_evidence() + log_prior(kernel, likelihood, power)) / len(x),
        max_iterations,
    )
