"""Kernel and noise of series, fitted to the first task by maximum marginal likelihood."""

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor

from gpvae.hyperparameters.marginal_likelihood import ascend, log_prior
from gpvae.hyperparameters.search_space import search_space, set_values
from gpvae.kernels import covariance
from gpvae.utils.linalg import cholesky, log_det, solve_lower

#: Maximum number of times, the first of the task, and of series, evenly spread, that the fit uses.
MAX_TIMES, MAX_SERIES = 400, 32
#: Maximum number of series with missing values, which need a factorisation each.
MAX_INCOMPLETE = 8
#: Lengthscale to start from, relative to the extent of the times.
START_LENGTHSCALE = 0.1
#: Noise variance of a missing value: it says nothing.
MISSING = 1e8


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

    Args:
        kernel: A kernel of batch shape `[L]`.
        likelihood: A likelihood of that batch shape.
        times: `[T]`.
        y: Observations of the latents, `[B, L, T]`.
        precision: Their precisions relative to those of the likelihood's noise, zero where missing, `[B or 1, L, T]`.
        max_iterations: Maximum number of iterations of L-BFGS.
    """
    x, y, precision = times[:MAX_TIMES, None], y[..., :MAX_TIMES], precision[..., :MAX_TIMES]
    complete = bool((precision == 1).all())
    y, precision = _some(y, MAX_SERIES if complete else MAX_INCOMPLETE), _some(precision, MAX_INCOMPLETE)
    weights = 1 / precision.clamp_min(1 / MISSING) if not complete else precision[0]
    values = y.permute(1, 2, 0) if complete else y[..., None]  # [L, T, B], or [B, L, T, 1]

    def log_evidence() -> Tensor:
        K = covariance(kernel, x, x) + torch.diag_embed(likelihood.noise * weights)
        L = cholesky(K, jitter=0.0)
        quadratic = solve_lower(L, values).square().sum((-2, -1))
        return -0.5 * (quadratic + len(y) * log_det(L)).sum() / len(y) if complete else _mean_evidence(quadratic, L)

    power = float((y**2).mean()) or 1.0
    hyperparameters = list(search_space(kernel, likelihood, x, power, shortest=0.5 / len(x)))
    starts = [START_LENGTHSCALE * h.scale if h.name == "lengthscale" else h.scale for h in hyperparameters]
    set_values(hyperparameters, starts)
    ascend(
        hyperparameters,
        lambda: (log_evidence() + log_prior(kernel, likelihood, power)) / len(x),
        max_iterations,
    )


def _mean_evidence(quadratic: Tensor, L: Tensor) -> Tensor:
    return -0.5 * (quadratic + log_det(L)).mean(0).sum()


def _some(rows: Tensor, number: int) -> Tensor:
    """At most that many rows, evenly spread."""
    return rows[torch.linspace(0, len(rows) - 1, min(len(rows), number)).round().long()]
