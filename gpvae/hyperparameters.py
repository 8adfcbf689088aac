"""Hyperparameters of kernel and likelihood by maximum marginal likelihood: bounded, restarted, and honest about it."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood, Likelihood
from scipy.optimize import minimize
from torch import Tensor, nn

from gpvae.kernels import covariance
from gpvae.linalg import cholesky, log_det, solve_lower

#: Lengthscales, relative to the extent of the inputs, from which the search starts.
STARTS = (0.03, 0.1, 0.3, 1.0)
#: Points of the subset on which the starts compete, and iterations that each of them gets there.
NUM_SCREENING, SCREENING_ITERATIONS = 300, 40
#: Shortest lengthscale for inputs of several dimensions, relative to their extent: few variables cannot follow less.
SHORTEST = 0.1
#: Weak log-normal prior on the noise, relative to the power of the targets: its median, and its spread in logarithms.
NOISE_PRIOR = (0.05, 2.0)


class HyperparameterWarning(UserWarning):
    """The search for hyperparameters ended in a place that deserves a look."""


def exact_log_evidence(kernel: Kernel, noise: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """log N(y; 0, k(x, x) + noise I), summed over latent dimensions."""
    K = covariance(kernel, x, x)
    L = cholesky(K + torch.diag_embed(noise.expand(y.shape)), jitter=0.0)
    half = solve_lower(L, y[..., None])[..., 0]
    return -0.5 * ((half**2).sum(-1) + log_det(L) + y.shape[-1] * math.log(2 * math.pi)).sum()


def log_prior(kernel: Kernel, likelihood: GaussianLikelihood, power: float) -> Tensor:
    """Log density of the priors registered with gpytorch, and of the weak one on noise that has none."""
    total = torch.zeros_like(likelihood.noise.sum())
    registered = [*kernel.named_priors(), *likelihood.named_priors()]
    for _, module, prior, closure, _ in registered:
        total = total + prior.log_prob(closure(module)).sum()
    if not list(likelihood.named_priors()):
        median, spread = NOISE_PRIOR
        total = total - 0.5 * (((likelihood.noise / (median * power)).log() / spread) ** 2).sum()
    return total


@dataclass(frozen=True)
class Bounded:
    """A hyperparameter with its bounds, in raw (unconstrained) values."""

    name: str
    parameter: nn.Parameter
    low: Tensor
    high: Tensor
    transform: Callable[[Tensor], Tensor]

    def clip(self, raw: Tensor) -> Tensor:
        """The nearest value within the bounds."""
        return torch.minimum(torch.maximum(raw, self.low), self.high)

    def ends_on(self) -> str | None:
        """The bound that the value has run into, in words; a lengthscale without limit is an idle input, no matter."""
        raw = self.parameter.detach()
        bounds = ((self.low, "lower"), (self.high, "upper"))
        for bound, word in bounds[:1] if self.name == "lengthscale" else bounds:
            hit = torch.isfinite(bound) & ((raw - bound).abs() < 1e-6 * (1 + bound.abs()))
            if bool(hit.any()):
                return f"{self.name} = {float(self.transform(raw)[hit][0]):.3g}, its {word} bound"
        return None


def fit(
    kernel: Kernel,
    likelihood: GaussianLikelihood,
    x: Tensor,
    y: Tensor,
    objective: Callable[[], Tensor] | None = None,
    shortest: float | None = None,
    max_iterations: int = 200,
) -> None:
    """Maximise the log evidence over the hyperparameters of kernel and Gaussian likelihood, in place.

    Several starts compete on a subset of the points; the best goes on with all of them. Bounds keep lengthscales
    between `shortest` and a hundred times the extent of the inputs, and variances in proportion to the targets.
    Priors registered with kernel and likelihood count; noise without one gets a weak prior, for small batches can
    be fitted by no noise at all.

    Args:
        kernel: The kernel.
        likelihood: The likelihood.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        objective: Log evidence to maximise in the end; the exact one if not given.
        shortest: Shortest lengthscale, relative to the extent of the inputs; half the mean spacing of inputs of one
            dimension and `SHORTEST` for several if not given.
        max_iterations: Of L-BFGS, from the best start.
    """
    power = float((y**2).mean().clamp_min(1e-300))

    def exact(inputs: Tensor, outputs: Tensor) -> Callable[[], Tensor]:
        return lambda: exact_log_evidence(kernel, likelihood.noise, inputs, outputs)

    def per_point(log_evidence: Callable[[], Tensor], num: int) -> Callable[[], Tensor]:
        return lambda: (log_evidence() + log_prior(kernel, likelihood, power)) / num

    if shortest is None:
        shortest = 0.5 / len(x) if x.shape[-1] == 1 else SHORTEST
    hyperparameters = list(_bounded(kernel, likelihood, x, power, shortest))
    if not hyperparameters:
        return
    some = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:NUM_SCREENING].to(x.device)
    screening = per_point(exact(x[some], y[..., some]), len(some))
    best, best_value = None, -math.inf
    for start in _starts(hyperparameters, kernel, likelihood, x, power):
        _set(hyperparameters, start)
        value = _ascend(hyperparameters, screening, SCREENING_ITERATIONS)
        if value > best_value:
            best, best_value = [h.parameter.detach().clone() for h in hyperparameters], value
    if best is None:
        raise FloatingPointError("no start gave a finite log evidence; scale inputs and targets to moderate values")
    _set(hyperparameters, best)
    _ascend(hyperparameters, per_point(objective or exact(x, y), len(x)), max_iterations)
    ends = [message for h in hyperparameters if (message := h.ends_on())]
    if ends:
        warnings.warn(
            f"the fit of hyperparameters ended on a bound: {'; '.join(ends)}. The first batch may say too little "
            "about it: fit on more data, fix the value, or scale inputs and targets",
            HyperparameterWarning,
            stacklevel=3,
        )


def _ascend(hyperparameters: list[Bounded], objective: Callable[[], Tensor], max_iterations: int) -> float:
    """L-BFGS-B in raw values; returns the objective reached."""
    parameters = [h.parameter for h in hyperparameters]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        _set(hyperparameters, _unflatten(flat, parameters))
        value = objective()
        if not bool(torch.isfinite(value)):
            return 1e10, np.zeros_like(flat)
        gradients = torch.autograd.grad(value, parameters, allow_unused=True)
        filled = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, gradients, strict=True)]
        return -value.item(), -_flatten(filled)

    bounds = list(
        zip(
            _flatten([h.low for h in hyperparameters]),
            _flatten([h.high for h in hyperparameters]),
            strict=True,
        )
    )
    result = minimize(
        loss,
        _flatten(parameters),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": max_iterations},
    )
    _set(hyperparameters, _unflatten(result.x, parameters))
    return -float(result.fun)


def _starts(
    hyperparameters: list[Bounded], kernel: Kernel, likelihood: Likelihood, x: Tensor, power: float
) -> Iterator[list[Tensor]]:
    """Where the hyperparameters are now, and a few lengthscales relative to the extent of the inputs."""
    yield [h.parameter.detach().clone() for h in hyperparameters]
    for share in STARTS:
        values = {
            "raw_lengthscale": share * _extent(x),
            "raw_outputscale": torch.tensor(power),
            "raw_noise": torch.tensor(NOISE_PRIOR[0] * power),
        }
        start = []
        for module, name, parameter, constraint in _constrained(kernel, likelihood):
            raw = parameter.detach().clone()
            if name in values:
                value = _for_module(module, values[name]).to(raw).clamp_min(1e-300)
                raw = constraint.inverse_transform(value).expand_as(raw).clone()
            start.append(torch.nan_to_num(raw))
        yield start


def _bounded(kernel: Kernel, likelihood: Likelihood, x: Tensor, power: float, shortest: float) -> Iterator[Bounded]:
    limits = {
        "raw_lengthscale": (shortest * _extent(x), 100 * _extent(x)),
        "raw_outputscale": (torch.tensor(1e-4 * power), torch.tensor(1e4 * power)),
        "raw_noise": (torch.tensor(1e-6 * power), torch.tensor(10 * power)),
    }
    for module, name, parameter, constraint in _constrained(kernel, likelihood):
        low = torch.full_like(parameter, -math.inf)
        high = torch.full_like(parameter, math.inf)
        if name in limits:
            smallest = constraint.lower_bound.to(parameter) * (1 + 1e-6)
            raw_limits = [
                constraint.inverse_transform(torch.maximum(_for_module(module, limit).to(parameter), smallest))
                for limit in limits[name]
            ]
            low, high = (limit.expand_as(parameter).detach() for limit in raw_limits)
        yield Bounded(name.removeprefix("raw_"), parameter, low, high, constraint.transform)


def _constrained(kernel: Kernel, likelihood: Likelihood) -> Iterator[tuple[nn.Module, str, nn.Parameter, Interval]]:
    """Every positive hyperparameter: its module, name, raw parameter and constraint."""
    for root in (kernel, likelihood):
        for module in root.modules():
            for name, parameter in module.named_parameters(recurse=False):
                constraint = getattr(module, f"{name}_constraint", None)
                if constraint is not None and parameter.requires_grad:
                    yield module, name, parameter, constraint


def _for_module(module: nn.Module, value: Tensor) -> Tensor:
    """A per-dimension value in the shape that a kernel's lengthscale takes."""
    if value.ndim == 0:
        return value
    active = getattr(module, "active_dims", None)
    value = value if active is None else value[active]
    return value if getattr(module, "ard_num_dims", None) else value.mean()


def _extent(x: Tensor) -> Tensor:
    """Extent of the inputs in each dimension, one where there is none, `[D]`."""
    extent = x.amax(0) - x.amin(0)
    return torch.where(extent > 0, extent, torch.ones_like(extent))


def _set(hyperparameters: list[Bounded], values: list[Tensor]) -> None:
    for h, value in zip(hyperparameters, values, strict=True):
        h.parameter.data = h.clip(value.to(h.parameter).reshape(h.parameter.shape))


def _flatten(tensors: list[Tensor] | list[nn.Parameter]) -> np.ndarray:
    return np.concatenate([t.detach().cpu().double().reshape(-1).numpy() for t in tensors])


def _unflatten(flat: np.ndarray, like: list[nn.Parameter]) -> list[Tensor]:
    parts = torch.from_numpy(np.array(flat)).split([p.numel() for p in like])
    return [part.reshape(p.shape) for part, p in zip(parts, like, strict=True)]
