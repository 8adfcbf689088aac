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

from gpvae.hyperparameters.periods import likely_periods
from gpvae.hyperparameters.search_space import (
    START_NOISE,
    Hyperparameter,
    extent_of,
    search_space,
    set_values,
    starts,
)
from gpvae.kernels import covariance
from gpvae.likelihoods import base_likelihood, is_gaussian, scale_of_function, some_points
from gpvae.utils.linalg import cholesky, common_rows, log_det, solve_by_columns

Objective = Callable[[], Tensor]
Values = list[Tensor]

#: Starts that are compared; fewer for likelihoods other than Gaussian, where the objective takes longer.
NUM_STARTS, NUM_STARTS_NON_GAUSSIAN = 64, 8
#: Maximum number of points on which starts are compared for a Gaussian likelihood.
MAX_SUBSET = 300
#: Starts from which L-BFGS runs, and its iterations before those that have fallen behind are dropped.
NUM_BEST, FIRST_ITERATIONS = 3, 8
#: Nats by which a start may be behind after these iterations, and a smoother optimum in the end.
MAX_BEHIND, INSIGNIFICANT = 5.0, 1.0
#: Starts whose hyperparameters all come this close, as a difference of logarithms, reach the same optimum.
SAME = 0.1
#: Shortest lengthscale for inputs of several dimensions, relative to their extent: few variables follow no less.
SHORTEST = 0.1
#: Weak log-normal prior on the noise, relative to the power of the targets: median, and spread of the logarithm.
NOISE_PRIOR = (START_NOISE, 2.0)


class HyperparameterWarning(UserWarning):
    """The search for hyperparameters ended on a bound."""


def exact_log_evidence(kernel: Kernel, noise: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """log N(y; 0, K), K = k(x, x) + noise I, summed over outputs, which share K if the kernel has no batch shape.

    Its gradient ½ (K⁻¹y yᵀK⁻¹ - K⁻¹) by K is written out, which is cheaper than backward through the factorisation.
    """
    K = covariance(kernel, x, x)
    noise = common_rows(noise, K)
    K = K + torch.diag_embed(noise.expand(torch.broadcast_shapes(noise.shape, K.shape[:-1])))
    L = cholesky(K.detach(), jitter=0.0)
    weights = solve_by_columns(lambda factor, columns: torch.cholesky_solve(columns, factor), L, y)
    value = -0.5 * ((y * weights).sum(-1) + log_det(L) + y.shape[-1] * math.log(2 * math.pi)).sum()
    if not K.requires_grad:
        return value
    num = len(y) if y.ndim == K.ndim else 1  # outputs that share K
    squares = weights.mT @ weights if y.ndim == K.ndim else weights[..., :, None] * weights[..., None, :]
    gradient = 0.5 * (squares - num * torch.cholesky_inverse(L))
    return value + (gradient * (K - K.detach())).sum()


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

    The log evidence is evaluated at many starts: lengthscales from the spacing of the inputs to their extent, several
    levels of noise, and periods from a periodogram; for a Gaussian likelihood on a subset of the points. L-BFGS goes on
    from the best few. Of optima that differ by less than a nat, which the data cannot tell apart, the smoothest is
    taken: fewer inducing variables follow it.

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
        max_iterations: Maximum number of iterations of L-BFGS.
    """
    power = scale_of_function(likelihood, y)

    def exact(some: Tensor | slice) -> Objective:
        return lambda: exact_log_evidence(kernel, some_points(likelihood, some).noise, x[some], y[..., some])

    def per_point(log_evidence: Objective, num: int) -> Objective:
        return lambda: (log_evidence() + log_prior(kernel, likelihood, power)) / num

    if shortest is None:
        shortest = 0.5 / len(x) if x.shape[-1] == 1 else SHORTEST
    periods = likely_periods(x, y) if any(hasattr(m, "raw_period_length") for m in kernel.modules()) else None
    hyperparameters = list(search_space(kernel, likelihood, x, power, shortest, periods))
    if not hyperparameters:
        return

    def final() -> Objective:
        return per_point(make_objective() if make_objective else exact(slice(None)), len(x))

    if is_gaussian(likelihood):
        some = _subset(x)
        num, screening = NUM_STARTS, lambda: per_point(exact(some), len(some))
    else:
        num, screening = NUM_STARTS_NON_GAUSSIAN, final

    def climb(start: Values, iterations: int) -> tuple[float, Values]:
        set_values(hyperparameters, start)
        value = ascend(hyperparameters, final(), iterations)
        return len(x) * value, [h.value for h in hyperparameters]

    best = _best_starts(hyperparameters, starts(hyperparameters, num), screening)
    ends = sorted((climb(start, FIRST_ITERATIONS) for start in best), key=lambda end: -end[0])
    optima: list[tuple[float, Values]] = []
    known: list[Values] = []
    for value, values in ends:
        if value > ends[0][0] - MAX_BEHIND and all(_distance(values, other) > SAME for other in known):
            optima.append(climb(values, max_iterations))
            known += [values, optima[-1][1]]
    _, values = _smoothest(hyperparameters, optima)
    set_values(hyperparameters, values)
    if make_objective is not None:  # again, made for the hyperparameters found
        ascend(hyperparameters, final(), max_iterations)
    reached = [message for h in hyperparameters if (message := h.reached_bound())]
    if reached:
        warnings.warn(
            f"the fit of hyperparameters ended on a bound: {'; '.join(reached)}. The first batch may say too little "
            "about it: fit on more data, fix the value, or scale inputs and targets",
            HyperparameterWarning,
            stacklevel=4,  # the caller of `OnlineGP.fit_hyperparameters`
        )


def _subset(x: Tensor) -> Tensor:
    """Indices of at most `MAX_SUBSET` points: neighbours, which show short lengthscales, and as many random points."""
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0)).to(x.device)
    near = ((x - x[order[0]]) / extent_of(x)).norm(dim=-1).argsort()[: MAX_SUBSET // 2]
    return torch.cat([near, order[~torch.isin(order, near)]])[:MAX_SUBSET]


def _best_starts(
    hyperparameters: list[Hyperparameter], candidates: list[Values], make_objective: Callable[[], Objective]
) -> list[Values]:
    """The best `NUM_BEST` of the candidates that differ by a factor of two in some hyperparameter.

    Raises:
        FloatingPointError: No candidate has a finite log evidence.
    """
    values = []
    for candidate in candidates:
        set_values(hyperparameters, candidate)
        objective = make_objective()
        with torch.no_grad():
            values.append(float(objective()))
    best: list[Values] = []
    for value, candidate in sorted(zip(values, candidates, strict=True), key=lambda pair: -pair[0]):
        if math.isfinite(value) and all(_distance(candidate, other) > math.log(2) for other in best):
            best.append(candidate)
    if not best:
        raise FloatingPointError("no start gave a finite log evidence; scale inputs and targets to moderate values")
    return best[:NUM_BEST]


def _smoothest(hyperparameters: list[Hyperparameter], optima: list[tuple[float, Values]]) -> tuple[float, Values]:
    """The optimum with the longest lengthscales among those that are not significantly below the best."""
    best = max(value for value, _ in optima)

    def smoothness(optimum: tuple[float, Values]) -> float:
        pairs = zip(hyperparameters, optimum[1], strict=True)
        return sum(float((v / h.scale).log().mean()) for h, v in pairs if h.name == "lengthscale")

    return max((o for o in optima if o[0] > best - INSIGNIFICANT), key=smoothness)


def _distance(values: Values, others: Values) -> float:
    """The largest difference between logarithms."""
    return float(abs(np.log(_flatten(values) / _flatten(others))).max())


def ascend(
    hyperparameters: list[Hyperparameter], objective: Objective, max_iterations: int, tolerance: float = 2.2e-9
) -> float:
    """L-BFGS-B over the logarithms, until an iteration gains less than a share of the objective.

    Returns the objective reached.
    """
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
        options={"maxiter": max_iterations, "ftol": tolerance},
    )
    loss(result.x)
    return -float(result.fun)


def _flatten(tensors: list[Tensor]) -> np.ndarray:
    return np.concatenate([t.detach().cpu().double().reshape(-1).numpy() for t in tensors])
