"""Warnings that a model does not suit its stream: too few inducing variables, or a kernel and noise that misfit."""

import warnings

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from scipy.special import chdtri
from torch import Tensor

from gpvae.inducing import InducingVariables
from gpvae.likelihoods import predictive, some_points, weights_of
from gpvae.sites import residual_variance
from gpvae.streaming import StreamingPosterior

#: Minimum share of the kernel's variance that the inducing variables should resolve.
MIN_RESOLVED = 0.9
#: From this number of variables on, the warning suggests other families.
MAX_ADVISED = 5000
#: Mean square of standardised residuals above which kernel and noise do not suit data that have been learnt.
MAX_MEAN_SQUARE = 2.0
#: With few data, the probability that the mean square exceeds its threshold by chance.
SIGNIFICANCE = 1e-6
#: Minimum and maximum number of points of a task that the check uses.
MIN_POINTS, MAX_POINTS = 10, 256


class ResolutionWarning(UserWarning):
    """The inducing variables are too few for the kernel's lengthscale over the length of the stream."""


class MisfitWarning(UserWarning):
    """The residuals of a task are larger than the predictive variance allows."""


def warn_unresolved(inducing: InducingVariables, kernel: Kernel, stacklevel: int) -> bool:
    """Warn if the variables are too few for the stream so far, and advise a number; return whether they are too few.

    Args:
        inducing: The family.
        kernel: The kernel.
        stacklevel: Stack level of the user's code, as for `warnings.warn`.
    """
    least = inducing.num_needed(kernel, MIN_RESOLVED) if inducing.started else None
    if least is None or least <= inducing.num_inducing:
        return False
    warnings.warn(
        f"{inducing.num_inducing} {type(inducing).__name__} variables are too few for a stream this long relative to "
        f"the kernel's lengthscale; about {inducing.num_needed(kernel)} would resolve it"
        + ("" if least < MAX_ADVISED else ": points, or a memory with a window, may be a better choice"),
        ResolutionWarning,
        stacklevel=stacklevel,
    )
    return True


@torch.no_grad()
def warn_misfit(
    posterior: StreamingPosterior, kernel: Kernel, likelihood: Likelihood, x: Tensor, y: Tensor, stacklevel: int
) -> None:
    """Warn if 1/N Σ (y - mean)² / var of data just learnt is far above 1: too smooth a kernel, or too little noise.

    Nothing is checked if the variables are too few to resolve the kernel.

    Args:
        posterior: The posterior, with q(u) at its optimum.
        kernel: The kernel.
        likelihood: A Gaussian likelihood.
        x: Inputs of the task, `[N, D]`.
        y: Targets, `[*L, N]`.
        stacklevel: Stack level of the user's code, as for `warnings.warn`.
    """
    if len(x) < MIN_POINTS:
        return
    index = torch.linspace(0, len(x) - 1, min(len(x), MAX_POINTS), device=x.device).round().long()
    frame, q = posterior.q(kernel)
    a, prior = frame.features(x[index])
    if (residual_variance(a, prior) / prior).mean() > 1 - MIN_RESOLVED:
        return
    likelihood, y = some_points(likelihood, index), y[..., index]
    predicted = predictive(likelihood, *q.marginals(a, prior))
    squares = (y - predicted.mean) ** 2 / predicted.variance
    weights = weights_of(likelihood)
    excess = float(squares.mean() if weights is None else squares[weights > 0].mean())
    if excess <= max(MAX_MEAN_SQUARE, chdtri(len(index), SIGNIFICANCE) / len(index)):
        return
    warnings.warn(
        f"squared residuals of this task are on average {excess:.0f} times the predictive variance: kernel and noise, "
        "fitted to earlier data, do not suit these, and predictions are overconfident. Use a bank of them (gpvae.Bank; "
        "in configs hyperparameters: bank), fit them to a longer first task, or train them in every task "
        "(train_hyperparameters=True; in configs hyperparameters: train_always), which is less stable",
        MisfitWarning,
        stacklevel=stacklevel,
    )
