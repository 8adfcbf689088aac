"""Hyperparameters of kernel and likelihood by maximum marginal likelihood: bounded, restarted, honest about it."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from scipy.optimize import minimize
from torch import Tensor, nn

from gpvae.kernels import covariance
from gpvae.likelihoods import is_gaussian, scale_of_function
from gpvae.linalg import cholesky, log_det, solve_lower

Objective = Callable[[], Tensor]

#: Lengthscales, relative to the extent of the inputs, from which the search starts.
STARTS = (0.03, 0.1, 0.3, 1.0)
#: Points of the subset on which the starts compete, and iterations that each of them gets there.
NUM_SCREENING, SCREENING_ITERATIONS = 300, 40
#: Shortest lengthscale for inputs of several dimensions, relative to their extent: few variables follow no less.
SHORTEST = 0.1
#: Weak log-normal prior on the noise, relative to the power of the targets: median, and spread of the logarithm.
NOISE_PRIOR = (0.05, 2.0)


class HyperparameterWarning(UserWarning):
    """The search for hyperparameters ended in a place that deserves a look."""


def exact_log_evidence(kernel: Kernel, noise: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """log N(y; 0, k(x, x) + noise I), summed over latent dimensions."""
    K = covariance(kernel, x, x)
    L = cholesky(K + torch.diag_embed(noise.expand(y.shape)), jitter=0.0)
    half = solve_lower(L, y[..., None])[..., 0]
    return -0.5 * ((half**2).sum(-1) + log_det(L) + y.shape[-1] * math.log(2 * math.pi)).sum()


def log_prior(kernel: Kernel, likelihood: Likelihood, power: float) -> Tensor:
    """Log density of the priors registered with gpytorch, and of the weak one on Gaussian noise that has none."""
    total = torch.zeros((), dtype=torch.float64)
    for _, module, prior, closure, _ in [*kernel.named_priors(), *likelihood.named_priors()]:
        total = total + prior.log_prob(closure(module)).sum()
    if is_gaussian(likelihood) and not list(likelihood.named_priors()):
        median, spread = NOISE_PRIOR
        total = total - 0.5 * (((likelihood.noise / (median * power)).log() / spread) ** 2).sum()
    return total


@dataclass(frozen=True)
class Hyperparameter:
    """A positive hyperparameter that is searched for on a logarithmic scale, between bounds.

    Attributes:
        name: Its name without `raw_`.
        parameter: The raw (unconstrained) parameter.
        constraint: Maps raw to constrained values.
        low: Lower bounds, in the shape of the parameter.
        high: Upper bounds.
        scale: What a start multiplies a lengthscale with, or starts another hyperparameter from.
    """

    name: str
    parameter: nn.Parameter
    constraint: Interval
    low: Tensor
    high: Tensor
    scale: Tensor

    @property
    def value(self) -> Tensor:
        """The constrained value."""
        return self.constraint.transform(self.parameter.detach())

    def raw(self, logarithm: Tensor) -> Tensor:
        """The raw value for a logarithm of the constrained one."""
        return self.constraint.inverse_transform(logarithm.exp())

    def clip(self, value: Tensor) -> Tensor:
        """The nearest value within the bounds."""
        return torch.minimum(torch.maximum(value.expand_as(self.low), self.low), self.high)

    def ends_on(self) -> str | None:
        """The bound it has run into, in words; a lengthscale without limit only marks an input that is not needed."""
        bounds = ((self.low, "lower"), (self.high, "upper"))
        for bound, word in bounds[:1] if self.name == "lengthscale" else bounds:
            hit = (self.value / bound - 1).abs() < 1e-4
            if bool(hit.any()):
                return f"{self.name} = {float(self.value[hit][0]):.3g}, its {word} bound"
        return None


def fit(
    kernel: Kernel,
    likelihood: Likelihood,
    x: Tensor,
    y: Tensor,
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
        max_iterations: Of L-BFGS, from the best start.
    """
    power = scale_of_function(likelihood, y)

    def exact(some: Tensor | slice) -> Objective:
        return lambda: exact_log_evidence(kernel, likelihood.noise, x[some], y[..., some])

    def per_point(log_evidence: Objective, num: int) -> Objective:
        return lambda: (log_evidence() + log_prior(kernel, likelihood, power)) / num

    if shortest is None:
        shortest = 0.5 / len(x) if x.shape[-1] == 1 else SHORTEST
    hyperparameters = list(_hyperparameters(kernel, likelihood, x, power, shortest))
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
    for start in _starts(hyperparameters):
        _set(hyperparameters, start)
        value = _ascend(hyperparameters, screening(), SCREENING_ITERATIONS)
        if value > best_value:
            best, best_value = [h.value for h in hyperparameters], value
    if best is None:
        raise FloatingPointError("no start gave a finite log evidence; scale inputs and targets to moderate values")
    _set(hyperparameters, best)
    for _ in range(1 if make_objective is None else 2):  # again, made for the hyperparameters found
        _ascend(hyperparameters, final(), max_iterations)
    ends = [message for h in hyperparameters if (message := h.ends_on())]
    if ends:
        warnings.warn(
            f"the fit of hyperparameters ended on a bound: {'; '.join(ends)}. The first batch may say too little "
            "about it: fit on more data, fix the value, or scale inputs and targets",
            HyperparameterWarning,
            stacklevel=3,
        )


def _ascend(hyperparameters: list[Hyperparameter], objective: Objective, max_iterations: int) -> float:
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


def _starts(hyperparameters: list[Hyperparameter]) -> Iterator[list[Tensor]]:
    """Where the hyperparameters are now, and a few lengthscales relative to the extent of the inputs."""
    yield [h.value for h in hyperparameters]
    for share in STARTS:
        yield [h.scale * share if h.name == "lengthscale" else h.scale for h in hyperparameters]


def _hyperparameters(
    kernel: Kernel, likelihood: Likelihood, x: Tensor, power: float, shortest: float
) -> Iterator[Hyperparameter]:
    """Every positive hyperparameter that requires a gradient."""
    extent = _extent(x)
    for module in (m for root in (kernel, likelihood) for m in root.modules()):
        for raw_name, parameter in module.named_parameters(recurse=False):
            constraint = getattr(module, f"{raw_name}_constraint", None)
            if constraint is None or not parameter.requires_grad or not bool((constraint.lower_bound >= 0).all()):
                continue
            name, now = raw_name.removeprefix("raw_"), constraint.transform(parameter.detach())
            if name == "lengthscale":
                scale = _per_dimension(module, extent).to(now).expand_as(now)
                low, high = shortest * scale, 100 * scale
            elif name in ("outputscale", "noise"):
                share, least, most = (1.0, 1e-4, 1e4) if name == "outputscale" else (NOISE_PRIOR[0], 1e-6, 10.0)
                scale = torch.full_like(now, share * power)
                low, high = torch.full_like(now, least * power), torch.full_like(now, most * power)
            else:
                scale, low, high = now, 1e-4 * now, 1e4 * now
            low, high = _within(constraint, low, high)
            scale = torch.minimum(torch.maximum(scale, low), high)
            yield Hyperparameter(name, parameter, constraint, low, high, scale)


def _within(constraint: Interval, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds that respect a constraint, with room for its inverse to be finite."""
    least, most = constraint.lower_bound.to(low), constraint.upper_bound.to(low)
    margin = torch.where(torch.isfinite(most), 1e-4 * (most - least), 1e-6 * least)
    least, most = (least + margin).expand_as(low), (most - margin).expand_as(low)
    low = torch.minimum(torch.maximum(low, least), most)
    return low, torch.maximum(torch.minimum(high, most), low * (1 + 1e-6))


def _per_dimension(module: nn.Module, value: Tensor) -> Tensor:
    """A value for each input dimension, `[D]`, as a kernel's lengthscale takes it: for its own dimensions, or one."""
    active = getattr(module, "active_dims", None)
    value = value if active is None else value[active]
    return value if getattr(module, "ard_num_dims", None) else value.mean()


def _extent(x: Tensor) -> Tensor:
    """Extent of the inputs in each dimension, one where there is none, `[D]`."""
    extent = x.amax(0) - x.amin(0)
    return torch.where(extent > 0, extent, torch.ones_like(extent))


def _set(hyperparameters: list[Hyperparameter], values: list[Tensor]) -> None:
    for h, value in zip(hyperparameters, values, strict=True):
        h.parameter.data = h.raw(h.clip(value).log())


def _flatten(tensors: list[Tensor]) -> np.ndarray:
    return np.concatenate([t.detach().cpu().double().reshape(-1).numpy() for t in tensors])
