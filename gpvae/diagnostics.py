"""Warnings that a model does not suit its stream: too few inducing variables, or a kernel and noise that misfit."""

import warnings
from dataclasses import dataclass

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from scipy.special import chdtri
from torch import Tensor

from gpvae.inducing import InducingVariables
from gpvae.kernels import variance
from gpvae.likelihoods import is_gaussian, predictive, some_points, weights_of
from gpvae.sites import residual_variance
from gpvae.streaming import StreamingPosterior

#: Nats per point that transports may lose of past data, and that variables may leave unexplained of new data.
MAX_LOST, MAX_UNEXPLAINED = 0.07, 0.5
#: Total nats below which neither matters.
NEGLIGIBLE = 8.0
#: Minimum share of the prior variance that the inducing variables should explain.
MIN_RESOLVED = 0.9
#: Distance of targets from the prior mean, in prior standard deviations, that does not suit the prior.
MAX_DISTANCE = 5.0
#: From this number of variables on, the warning suggests other families.
MAX_ADVISED = 5000
#: Mean square of standardised residuals above which kernel and noise do not suit data that have been learnt.
MAX_MEAN_SQUARE = 2.0
#: With few data, the probability that the mean square exceeds its threshold by chance.
SIGNIFICANCE = 1e-6
#: Minimum and maximum number of points of a task that the check uses.
MIN_POINTS, MAX_POINTS = 10, 256


class ResolutionWarning(UserWarning):
    """The inducing variables are too few: they cost more evidence than they should."""


class MisfitWarning(UserWarning):
    """The residuals of a task are larger than the predictive variance allows."""


@dataclass(frozen=True)
class LeftOver:
    """What the inducing variables cannot represent, of past and of new data.

    Attributes:
        lost: What transports have lost of past data, ½ tr(G R), in nats per point of the stream.
        unexplained: What is left of the prior variance at new data, ½ (kff - qff) / noise, in nats per point.
        share: The same as a share of the prior variance.
        num_points: Number of points of the stream so far.
        num_new: Number of new data.
    """

    lost: float = 0.0
    unexplained: float = 0.0
    share: float = 0.0
    num_points: int = 0
    num_new: int = 0

    @classmethod
    @torch.no_grad()
    def of(
        cls,
        posterior: StreamingPosterior,
        kernel: Kernel,
        likelihood: Likelihood,
        x: Tensor,
        num_points: int,
        member: int | None = None,
    ) -> "LeftOver":
        """Measure it after a task.

        Args:
            posterior: The posterior, the task consolidated.
            kernel: The kernel.
            likelihood: The likelihood of the task; if it is not Gaussian, the noise counts as the prior variance.
            x: Its inputs `[N, D]`.
            num_points: Number of points of the stream so far.
            member: Index of the only kernel that counts; what has been lost of its past alone is not known.
        """
        index = _some_of(x)
        a, prior = posterior.present_frame(kernel)[0].features(x[index])
        residual = residual_variance(a, prior)
        noise = some_points(likelihood, index).noise if is_gaussian(likelihood) else prior
        shares, losses = residual / prior, 0.5 * residual / noise
        lost = float(posterior.lost) / max(num_points, 1)
        if member is not None:
            shares, losses, lost = shares[member], losses[member], 0.0
        return cls(lost, float(losses.mean()), float(shares.mean()), num_points, len(x))

    @property
    def too_much(self) -> bool:
        """Whether more variables are worth their cost."""
        if self.lost > MAX_LOST and self.lost * self.num_points > NEGLIGIBLE:
            return True
        unexplained = self.unexplained > MAX_UNEXPLAINED and self.share > 1 - MIN_RESOLVED
        return unexplained and self.unexplained * self.num_new > NEGLIGIBLE


def warn_unresolved(inducing: InducingVariables, kernel: Kernel, left: LeftOver, stacklevel: int) -> bool:
    """Warn if the variables are too few, and suggest a number; return whether they are.

    Args:
        inducing: The family.
        kernel: The kernel.
        left: What they cannot represent.
        stacklevel: Stack level of the user's code, as for `warnings.warn`.
    """
    if not left.too_much:
        return False
    least, enough = (inducing.num_needed(kernel, share) for share in (MIN_RESOLVED, 0.99))
    advice = "; take more"
    if least is not None and enough is not None and enough > inducing.num_inducing:
        advice = f"; about {enough} would resolve it"
        advice += "" if least < MAX_ADVISED else ": points, or a memory with a window, may be a better choice"
    warnings.warn(
        f"{inducing.num_inducing} {type(inducing).__name__} variables are too few for this stream and kernel: relative "
        f"to the noise, they leave {left.unexplained:.2g} nats per point of new data unexplained, and have lost "
        f"{left.lost:.2g} per point of past data{advice}",
        ResolutionWarning,
        stacklevel=stacklevel,
    )
    return True


@torch.no_grad()
def warn_far_from_mean(kernel: Kernel, likelihood: Likelihood, x: Tensor, y: Tensor, stacklevel: int) -> bool:
    """Warn if targets, less their prior mean, lie far from zero in prior standard deviations; return whether they do.

    Args:
        kernel: The kernel.
        likelihood: A Gaussian likelihood.
        x: Inputs of the task, `[N, D]`.
        y: Targets less their prior mean, `[*L, N]`.
        stacklevel: Stack level of the user's code, as for `warnings.warn`.
    """
    if y.shape[-1] < MIN_POINTS:
        return False
    spread = variance(kernel, x[_some_of(x)]).mean(-1) + likelihood.noise.mean(-1)
    weights = weights_of(likelihood)
    if weights is None:
        mean = y.mean(-1)
    else:  # zero where targets are missing
        mean = (weights * y).sum(-1) / weights.sum(-1).clamp_min(torch.finfo(y.dtype).tiny)
    distance = float((mean.abs() / spread.sqrt()).max())
    if distance <= MAX_DISTANCE:
        return False
    warnings.warn(
        f"the targets of this task lie on average {distance:.0f} prior standard deviations from the prior mean, so "
        "that kernel and noise explain the offset, not the signal: give mean=gpytorch.means.ConstantMean(), or "
        "subtract the mean",
        MisfitWarning,
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
    index = _some_of(x)
    frame, q = posterior.q(kernel)
    a, prior = frame.features(x[index])
    if (residual_variance(a, prior) / prior).mean() > 1 - MIN_RESOLVED:
        return
    likelihood, y = some_points(likelihood, index), y[..., index]
    predicted = predictive(likelihood, *q.marginals(a, prior))
    squares = (y - predicted.mean) ** 2 / predicted.variance
    weights = weights_of(likelihood)
    excess = float(squares.mean() if weights is None else squares[weights.expand(squares.shape) > 0].mean())
    if not excess > max(MAX_MEAN_SQUARE, chdtri(len(index), SIGNIFICANCE) / len(index)):  # NaN if no weight is above 0
        return
    warnings.warn(
        f"squared residuals of this task are on average {excess:.0f} times the predictive variance: kernel and noise, "
        "fitted to earlier data, do not suit these, and predictions are overconfident. Use a bank of them (gpvae.Bank; "
        "in configs hyperparameters: bank), fit them to a longer first task, or train them in every task "
        "(train_hyperparameters=True; in configs hyperparameters: train_always), which is less stable",
        MisfitWarning,
        stacklevel=stacklevel,
    )


def _some_of(x: Tensor) -> Tensor:
    """Indices of some points, spread evenly over a task."""
    return torch.linspace(0, len(x) - 1, min(len(x), MAX_POINTS), device=x.device).round().long()
