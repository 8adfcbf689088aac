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
#: Share of the log evidence that an iteration has to gain: less leaves a latent about 0.1 nats below its optimum.
TOLERANCE = 1e-4
#: A value of less relative precision counts as missing.
MIN_PRECISION = 0.5
#: Noise variance of a missing value: it says nothing.
MISSING = 1e8


class LogEvidence(torch.autograd.Function):
    """-½ Σ_l (Σ_b s_bl y_blᵀ K_l⁻¹ y_bl + log det K_l), K_ij = k(lag_ij) + δ_ij noise_i.

    The gradient by K is ½ (Σ_b s_bl α_bl α_blᵀ - K⁻¹), α = K⁻¹ y, which needs no pass back through the Cholesky factor.
    """

    @staticmethod
    def forward(ctx: Any, by_lag: Tensor, noise: Tensor, lag: Tensor, y: Tensor, shares: Tensor) -> Tensor:  # noqa: ANN401
        """The log evidence.

        Args:
            ctx: Keeps what the gradient needs.
            by_lag: Covariances k of each lag, `[L, G]`.
            noise: Variances, `[L, T]`.
            lag: The number of the lag of each pair of times, `[T, T]`.
            y: Observations, `[L, T, B]`.
            shares: s, weights of series, `[B, L]`.
        """
        K = by_lag.index_select(-1, lag.flatten()).unflatten(-1, lag.shape)
        K.diagonal(dim1=-2, dim2=-1).add_(noise)
        L = cholesky(K, jitter=0.0)
        inverse = torch.cholesky_inverse(L).mT  # row-major
        alpha = inverse @ y
        ctx.save_for_backward(inverse, alpha, shares, lag)
        ctx.num_lags = by_lag.shape[-1]
        return -0.5 * ((y * alpha).sum(-2) * shares.mT).sum() - 0.5 * log_det(L).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """The gradients by the covariances of lags and the noise."""
        inverse, alpha, shares, lag = ctx.saved_tensors
        by_K = torch.baddbmm(inverse, alpha * shares.mT[:, None], alpha.mT, beta=-1.0)
        by_lag = by_K.new_zeros(len(by_K), ctx.num_lags).index_add_(-1, lag.flatten(), by_K.flatten(1))
        return 0.5 * gradient * by_lag, 0.5 * gradient * by_K.diagonal(dim1=-2, dim2=-1), None, None, None


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
    lags, lag = (x - x.mT).abs().unique(return_inverse=True)  # few, if times are evenly spaced

    def log_evidence() -> Tensor:
        by_lag = covariance(kernel, lags[:, None], lags.new_zeros(1, 1))[..., 0]  # kernels of time are stationary
        noise = torch.where(at, likelihood.noise, MISSING)
        return LogEvidence.apply(by_lag, noise, lag, values, shares)  # type: ignore[no-untyped-call]

    power = float((values**2).mean()) or 1.0
    hyperparameters = list(search_space(kernel, likelihood, x, power, shortest=0.5 / len(x)))
    starts = [START_LENGTHSCALE * h.scale if h.name == "lengthscale" else h.scale for h in hyperparameters]
    set_values(hyperparameters, starts)
    ascend(
        hyperparameters,
        lambda: (log_evidence() + log_prior(kernel, likelihood, power)) / len(x),
        max_iterations,
        TOLERANCE,
    )
