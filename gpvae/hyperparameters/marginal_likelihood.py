"""Hyperparameters of kernel and likelihood by maximum marginal likelihood, within bounds and from several starts."""

import math
import warnings
from collections.abc import Callable

import numpy as np
import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from scipy.optimize import minimize
from torch import Tensor

from gpvae.hyperparameters.search_space import START_NOISE, Hyperparameter, search_space, set_values, starts
from gpvae.kernels import covariance
from gpvae.likelihoods import base_likelihood, is_gaussian, scale_of_function, some_points
from gpvae.utils.linalg import cholesky, log_det, solve_lower

Objective = Callable[[], Tensor]

#: Points of the subset on which the starts compete, and iterations that each of them gets there.
NUM_SCREENING, SCREENING_ITERATIONS = 300, 40
#: Shortest lengthscale for inputs of several dimensions, relative to their extent: few variables follow no less.
SHORTEST = 0.1
#: Weak log-normal prior on the noise, relative to the power of the targets: median, and spread of the logarithm.
NOISE_PRIOR = (START_NOISE, 2.0)


class HyperparameterWarning(UserWarning):
    """The search for hyperparameters ended on a bound."""


def exact_log_evidence(kernel: Kernel, noise: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """log N(y; 0, k(x, x) + noise I), summed over latent dimensions."""
    K = covariance(kernel, x, x)
    L = cholesky(K + torch.diag_embed(noise.expand(y.shape)), jitter=0.0)
    half = solve_lower(L, y[..., None])[..., 0]
    return -0.5 * ((half**2).sum(-1) + log_det(L) + y.shape[-1] * math.log(2 * math.pi)).sum()


def log_prior(kernel: Kernel, likelihood: Likelihood, power: float) -> Tensor:
    """Log density of the priors registered with gpytorch, and of the weak one on Gaussian noise that has none."""
    total = torch.zeros((), dtype=torch.float64)
    base = base_likelihood(likelihood)
    for _, module, prior, closure, _ in [*kernel.named_priors(), *base.named_priors()]:
        total = total + prior.log_prob(closure(module)).sum()
    if is_gaussian(likelihood) and not list(base.named_priors()):
        median, spread = NOISE_PRIOR
        total = total - 0.5 * (((base.noise / (median * power)).log() / spread) ** 2).sum()
    return total


def fit(
    kernel: Kernel,
    likelihood: Likelihood,
    x: Tensor,
    y: Tensor,
    *,
    make_objective: Callable[[], Objective] | None = None,
    shortest: float | None = None,
    max_iterations: int = 200,
) -> None:
    """Maximise the log evidence over the hyperparameters of kernel and likelihood, in place.

    Several starts compete, with a Gaussian likelihood on a subset of the points; the best goes on with all of them.
    Bounds keep lengthscales between `shortest` and a hundred times the extent of the inputs, and variances in
    proportion to the targets. Priors registered with kernel and likelihood count; noise without one gets a weak
    prior, for small batches can be fitted by no noise at all.

    Args:
        kernel: The kernel.
        likelihood: The likelihood.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        make_objective: Makes the log evidence to maximise, for hyperparameters near the present ones; the exact one
            of a Gaussian likelihood if not given.
        shortest: Shortest lengthscale, relative to the extent of the inputs; half the mean spacing of inputs of one
            dimension and `SHORTEST` for several if not given.
        max_iterations: Maximum number of iterations of L-BFGS from the best start.
    """
    power = scale_of_function(likelihood, y)

    def exact(some: Tensor | slice) -> Objective:
        return lambda: exact_log_evidence(kernel, some_points(likelihood, some).noise, x[some], y[..., some])

    def per_point(log_evidence: Objective, num: int) -> Objective:
        return lambda: (log_evidence() + log_prior(kernel, likelihood, power)) / num

    if shortest is None:
        shortest = 0.5 / len(x) if x.shape[-1] == 1 else SHORTEST
    hyperparameters = list(search_space(kernel, likelihood, x, power, shortest))
    if not hyperparameters:
        return

    def final() -> Objective:
        return per_point(make_objective() if make_objective else exact(slice(None)), len(x))

    def screening() -> Objective:
        if not is_gaussian(likelihood):
            return final()
        some = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:NUM_SCREENING].to(x.device)
        return per_point(exact(some), len(some))

    best, best_value = None, -math.inf
    for start in starts(hyperparameters):
        set_values(hyperparameters, start)
        value = ascend(hyperparameters, screening(), SCREENING_ITERATIONS)
        if value > best_value:
            best, best_value = [h.value for h in hyperparameters], value
    if best is None:
        raise FloatingPointError("no start gave a finite log evidence; scale inputs and targets to moderate values")
    set_values(hyperparameters, best)
    for _ in range(1 if make_objective is None else 2):  # again, made for the hyperparameters found
        ascend(hyperparameters, final(), max_iterations)
    ends = [message for h in hyperparameters if (message := h.reached_bound())]
    if ends:
        warnings.warn(
            f"the fit of hyperparameters ended on a bound: {'; '.join(ends)}. The first batch may say too little "
            "about it: fit on more data, fix the value, or scale inputs and targets",
            HyperparameterWarning,
            stacklevel=3,
        )


def ascend(hyperparameters: list[Hyperparameter], objective: Objective, max_iterations: int) -> float:
    """L-BFGS-B over the logarithms; returns the objective reached."""
    parameters = [h.parameter for h in hyperparameters]
    sizes = [p.numel() for p in parameters]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        logarithms = [
            part.reshape(p.shape).to(p).requires_grad_()
            for part, p in zip(torch.from_numpy(flat.copy()).split(sizes), parameters, strict=True)
        ]
        raw = [h.raw(logarithm) for h, logarithm in zip(hyperparameters, logarithms, strict=True)]
        for parameter, value in zip(parameters, raw, strict=True):
            parameter.data = value.detach()
        value = objective()
        if not bool(torch.isfinite(value)):
            return 1e10, np.zeros_like(flat)
        gradients = torch.autograd.grad(value, parameters, allow_unused=True)
        filled = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, gradients, strict=True)]
        return -value.item(), -_flatten(list(torch.autograd.grad(raw, logarithms, filled)))

    low, high, start = (
        np.log(_flatten([getattr(h, name) for h in hyperparameters])) for name in ("low", "high", "value")
    )
    result = minimize(
        loss,
        start.clip(low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": max_iterations},
    )
    loss(result.x)
    return -float(result.fun)


def _flatten(tensors: list[Tensor]) -> np.ndarray:
    return np.concatenate([t.detach().cpu().double().reshape(-1).numpy() for t in tensors])
