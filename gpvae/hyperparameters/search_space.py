"""The hyperparameters of a kernel and a likelihood as a space to search: bounds, starts, a logarithmic scale."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from torch import Tensor, nn

#: Number of lengthscales from which a search starts.
NUM_LEVELS = 16
#: Noise from which a search starts, relative to the power of the targets.
NOISE_LEVELS = (0.001, 0.008, 0.06, 0.5)
#: Noise to start from where there is only one start.
START_NOISE = 0.05


@dataclass(frozen=True)
class Hyperparameter:
    """A positive hyperparameter that is searched for on a logarithmic scale, between bounds.

    Attributes:
        name: Its name without `raw_`.
        parameter: The raw (unconstrained) parameter.
        constraint: Maps raw to constrained values.
        low: Lower bounds, in the shape of the parameter.
        high: Upper bounds.
        scale: Extent of the inputs for a lengthscale or a period; a single start for any other hyperparameter.
        levels: Values from which a search starts, `[S, ...]`.
    """

    name: str
    parameter: nn.Parameter
    constraint: Interval
    low: Tensor
    high: Tensor
    scale: Tensor
    levels: Tensor

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

    def reached_bound(self) -> str | None:
        """A description of the bound that the value has reached, if any.

        The upper bound of a lengthscale does not count: there the input is irrelevant.
        """
        bounds = ((self.low, "lower"), (self.high, "upper"))
        for bound, word in bounds[:1] if self.name == "lengthscale" else bounds:
            hit = (self.value / bound - 1).abs() < 1e-4
            if bool(hit.any()):
                return f"{self.name} = {float(self.value[hit][0]):.3g}, its {word} bound"
        return None


def starts(hyperparameters: list[Hyperparameter], num: int) -> list[list[Tensor]]:
    """The present values, and at most `num` combinations of levels.

    A Sobol sequence picks the combinations: all 64 of a lengthscale and noise, an even selection where there are more.
    """
    several = [h for h in hyperparameters if len(h.levels) > 1]
    picks = torch.zeros(1, 0, dtype=torch.int64)
    if several:
        sizes = torch.tensor([len(h.levels) for h in several])
        picks = (torch.quasirandom.SobolEngine(len(several)).draw(num) * sizes).long().unique(dim=0)
    combinations = [dict(zip((h.parameter for h in several), pick, strict=True)) for pick in picks.tolist()]
    values = [[h.levels[pick.get(h.parameter, 0)] for h in hyperparameters] for pick in combinations]
    return [[h.value for h in hyperparameters], *values]


def search_space(
    kernel: Kernel, likelihood: Likelihood, x: Tensor, power: float, shortest: float, periods: Tensor | None = None
) -> Iterator[Hyperparameter]:
    """Every positive hyperparameter that requires a gradient.

    Args:
        kernel: The kernel.
        likelihood: The likelihood.
        x: Inputs `[N, D]`.
        power: Mean square of the function, roughly.
        shortest: Shortest lengthscale, relative to the extent of the inputs.
        periods: Periods from which a search starts, `[S, D]`; the extent of the inputs if not given.
    """
    extent = extent_of(x)
    for module in (m for root in (kernel, likelihood) for m in root.modules()):
        for raw_name, parameter in module.named_parameters(recurse=False):
            constraint = getattr(module, f"{raw_name}_constraint", None)
            if constraint is None or not parameter.requires_grad or not bool((constraint.lower_bound >= 0).all()):
                continue
            name, now = raw_name.removeprefix("raw_"), constraint.transform(parameter.detach())
            one = torch.ones_like(now)
            if name == "lengthscale" and hasattr(module, "raw_period_length"):  # in units of the period
                scale, low, high, levels = one, 1e-2 * one, 1e2 * one, _spread(one, 0.1, 10.0)
            elif name == "lengthscale":
                scale = _per_dimension(module, extent).to(now).expand_as(now)
                dim = x.shape[-1] if module.active_dims is None else len(module.active_dims)
                low, high, levels = shortest * scale, 100 * scale, _spread(scale, *level_range(len(x), dim))
            elif name == "period_length":
                scale = _per_dimension(module, extent).to(now) * one
                known = extent[None] if periods is None else periods
                levels = torch.stack([_per_dimension(module, period).to(now) * one for period in known])
                low, high = 0.25 * scale / len(x), 100 * scale
            elif name in ("outputscale", "noise"):
                share, least, most = (1.0, 1e-4, 1e4) if name == "outputscale" else (START_NOISE, 1e-6, 10.0)
                scale = torch.full_like(now, share * power)
                low, high = torch.full_like(now, least * power), torch.full_like(now, most * power)
                levels = scale[None] if name == "outputscale" else torch.stack([s * power * one for s in NOISE_LEVELS])
            else:
                scale, low, high, levels = now, 1e-4 * now, 1e4 * now, now[None]
            low, high = _within(constraint, low, high)
            scale = torch.minimum(torch.maximum(scale, low), high)
            yield Hyperparameter(name, parameter, constraint, low, high, scale, levels)


def level_range(num_points: int, dim: int) -> tuple[float, float]:
    """The spacing of inputs in `dim` dimensions and their largest distance, relative to their extent."""
    return num_points ** (-1 / dim), math.sqrt(dim)


def _spread(scale: Tensor, least: float, most: float) -> Tensor:
    """Multiples of a scale, evenly spread over the logarithms, `[NUM_LEVELS, ...]`."""
    shares = torch.linspace(math.log(least), math.log(most), NUM_LEVELS).exp().to(scale)
    return shares.reshape(-1, *[1] * scale.dim()) * scale


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


def extent_of(x: Tensor) -> Tensor:
    """Extent of the inputs in each dimension, one where there is none, `[D]`."""
    extent = x.amax(0) - x.amin(0)
    return torch.where(extent > 0, extent, torch.ones_like(extent))


def set_values(hyperparameters: list[Hyperparameter], values: list[Tensor]) -> None:
    """Give the hyperparameters constrained values, clipped to their bounds."""
    for h, value in zip(hyperparameters, values, strict=True):
        h.parameter.data = h.raw(h.clip(value).log())
