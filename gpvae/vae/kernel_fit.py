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
#: Lengthscale to start from, relative to the extent of the times.
START_LENGTHSCALE = 0.1
#: A value of less relative precision counts as missing.
MIN_PRECISION = 0.5
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

    def log_evidence() -> Tensor:
        noise = torch.where(at, likelihood.noise, MISSING)
        L = cholesky(covariance(kernel, x, x) + torch.diag_embed(noise), jitter=0.0)
        quadratic = (solve_lower(L, values).square().sum(-2) * shares.mT).sum(-1)
        return -0.5 * (quadratic + log_det(L)).sum()

    power = float((values**2).mean()) or 1.0
    hyperparameters = list(search_space(kernel, likelihood, x, power, shortest=0.5 / len(x)))
    starts = [START_LENGTHSCALE * h.scale if h.name == "lengthscale" else h.scale for h in hyperparameters]
    set_values(hyperparameters, starts)
    ascend(
        hyperparameters,
        lambda: (log_evidence() + log_prior(kernel, likelihood, power)) / len(x),
        max_iterations,
    )
