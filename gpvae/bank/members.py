"""Kernels and likelihoods with a leading batch axis of members: repeat them, spread them over a grid, pick one."""

import copy
import math
from collections.abc import Iterator

import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood, Likelihood
from torch import Tensor, nn

from gpvae.hyperparameters.search_space import extent_of, level_range

#: Smallest and largest noise of the grid, relative to the variance of the function.
NOISE_RANGE = (0.01, 0.6)
#: Smallest and largest variance of the function, relative to the fitted one, if there is no noise to vary.
VARIANCE_RANGE = (1 / 9, 9.0)
#: Smallest and largest factor of a lengthscale that is relative to a period.
PERIODIC_RANGE = (1 / 8, 8.0)


def grid_shape(size: int) -> tuple[int, int]:
    """Numbers of lengthscales and of noise levels of a grid with at most `size` members; 6 and 4 for 24."""
    num_levels = max(1, round(math.sqrt(size / 1.5)))
    return size // num_levels, num_levels


def repeated_kernel(kernel: Kernel, num: int) -> Kernel:
    """A copy of a kernel of batch shape `*L` with batch shape `[num, *L]`."""
    members, num_axes = copy.deepcopy(kernel), len(kernel.batch_shape)
    for module in (m for m in members.modules() if isinstance(m, Kernel)):
        lead = [num, *[1] * (num_axes - len(module._batch_shape))]
        for parameter in module.parameters(recurse=False):
            _repeat(parameter, lead)
        module.batch_shape = torch.Size([*lead, *module._batch_shape])
    return members


def repeated_likelihood(likelihood: Likelihood, num: int, num_axes: int) -> Likelihood:
    """A copy with its own Gaussian noise for each member; parameters of other likelihoods are shared.

    Args:
        likelihood: The likelihood.
        num: Number of members.
        num_axes: Number of axes of the kernel's batch shape, not counting the members.
    """
    members = copy.deepcopy(likelihood)
    if isinstance(members, GaussianLikelihood):
        for parameter in members.parameters():
            _repeat(parameter, [num, *[1] * (num_axes - (parameter.ndim - 1))])
    return members


def _repeat(parameter: nn.Parameter, lead: list[int]) -> None:
    parameter.data = parameter.data.expand(*lead, *parameter.shape).clone()


def member_kernel(kernel: Kernel, index: int) -> Kernel:
    """A copy of the kernel of one member."""
    member, num_axes = copy.deepcopy(kernel), len(kernel.batch_shape) - 1
    for module in (m for m in member.modules() if isinstance(m, Kernel)):
        for parameter in module.parameters(recurse=False):
            parameter.data = parameter.data[index].clone()
        module.batch_shape = module._batch_shape[len(module._batch_shape) - num_axes :]
    return member


def member_likelihood(likelihood: Likelihood, index: int) -> Likelihood:
    """A copy of the likelihood of one member."""
    member = copy.deepcopy(likelihood)
    if isinstance(member, GaussianLikelihood):
        for parameter in member.parameters():
            parameter.data = parameter.data[index].clone()
    return member


def scaled_kernel(kernel: Kernel, scale: Tensor) -> Kernel:
    """A kernel times a scale `[*L]`."""
    if not isinstance(kernel, ScaleKernel):
        kernel = ScaleKernel(kernel, batch_shape=scale.shape).double().to(scale.device)
        kernel.outputscale = scale
    else:
        kernel.outputscale = kernel.outputscale.detach() * scale
    return kernel


def scaled_likelihood(likelihood: GaussianLikelihood, scale: Tensor) -> GaussianLikelihood:
    """A Gaussian likelihood whose noise is multiplied by a scale `[*L]`, in place.

    Its constraint is widened where it excludes that noise, as the default one does for small targets.
    """
    noise, covar = likelihood.noise.detach() * scale[..., None], likelihood.noise_covar
    if bool((noise <= covar.raw_noise_constraint.lower_bound).any()):
        covar.register_constraint("raw_noise", GreaterThan(0.1 * float(noise.min())))
    likelihood.noise = noise
    return likelihood


@torch.no_grad()
def spread(
    members: Kernel,
    likelihood: Likelihood,
    fitted: Kernel,
    noise: Likelihood,
    x: Tensor,
    shape: tuple[int, int],
    noise_range: tuple[float, float] = NOISE_RANGE,
) -> None:
    """Set the members to a grid of lengthscales, from the spacing of the inputs to their extent, and noise levels.

    Lengthscales keep their fitted ratios. If there is no Gaussian noise, or it is fixed, the variance of the function
    is varied instead. The member nearest to the fitted kernel becomes that kernel.

    Args:
        members: The kernel of all members, set in place.
        likelihood: Their likelihood, set in place.
        fitted: The kernel fitted to the first batch.
        noise: The likelihood fitted to it.
        x: Inputs of that batch, `[N, D]`.
        shape: Numbers of lengthscales and of noise levels.
        noise_range: Smallest and largest noise, relative to the variance of the function.
    """
    _copy(members, fitted)
    _copy(likelihood, noise)
    num_factors, num_levels = shape
    num = num_factors * num_levels
    by_noise = isinstance(likelihood, GaussianLikelihood) and likelihood.raw_noise.requires_grad
    low, high = (math.log(end) for end in (noise_range if by_noise else VARIANCE_RANGE))
    lengthscales = list(_varied(members, "lengthscale"))
    first = _log_factors(lengthscales, x)
    if first is None:  # no lengthscale to vary: all members differ in noise or variance
        num_factors, num_levels, first = 1, num, (0.0, 0.0)
    factors = torch.linspace(*first, num_factors).to(x).repeat_interleave(num_levels)
    levels = torch.linspace(low, high, num_levels).to(x).repeat(num_factors)
    own = torch.zeros_like(levels)
    if by_noise:
        variance = fitted(x[:1], diag=True).mean(-1)  # of the function, [*L]
        own = (noise.noise[..., 0] / variance).log().mean().expand_as(levels)
    nearest = int((((factors) / _step(factors)) ** 2 + ((levels - own) / _step(levels)) ** 2).argmin())
    factors[nearest], levels[nearest] = 0.0, own[nearest]
    for module in lengthscales:
        _multiply(module, "lengthscale", factors.exp())
    if by_noise:
        ratios = (levels - own).exp().reshape(-1, *[1] * (likelihood.noise.ndim - 1))
        least = likelihood.noise_covar.raw_noise_constraint.lower_bound
        likelihood.noise = torch.maximum(likelihood.noise * ratios, 1.001 * least)
    else:
        for module in _varied(members, "outputscale"):
            _multiply(module, "outputscale", levels.exp())


def _copy(members: nn.Module, fitted: nn.Module) -> None:
    for parameter, value in zip(members.parameters(), fitted.parameters(), strict=True):
        parameter.data = value.detach().expand_as(parameter).clone()


def _varied(kernel: Kernel, name: str) -> Iterator[nn.Module]:
    """Parts of a kernel with a hyperparameter that is not fixed."""
    for module in kernel.modules():
        parameter = module._parameters.get(f"raw_{name}")
        if parameter is not None and parameter.requires_grad:
            yield module


def _log_factors(lengthscales: list[nn.Module], x: Tensor) -> tuple[float, float] | None:
    """Logarithms of the factors from the fitted lengthscales to the spacing of the inputs, and to their extent.

    Lengthscales that are relative to a period are removed from the list, unless there are no others.
    """
    plain = [module for module in lengthscales if not hasattr(module, "raw_period_length")]
    if not plain:
        low, high = (math.log(factor) for factor in PERIODIC_RANGE)
        return (low, high) if lengthscales else None
    lengthscales[:] = plain
    extent, shares = extent_of(x), []
    for module in plain:
        assert isinstance(module, Kernel)
        active = module.active_dims
        share = module.lengthscale / (extent if active is None else extent[active])
        shares.append(share.clamp_max(level_range(len(x), x.shape[-1])[1]).log().reshape(-1))
    fitted = float(torch.cat(shares).mean())
    low, high = (math.log(end) for end in level_range(len(x), x.shape[-1]))
    return low - fitted, high - fitted


def _step(values: Tensor) -> float:
    """Distance between neighbours of a grid."""
    distinct = values.unique()
    return float(distinct[1] - distinct[0]) if len(distinct) > 1 else 1.0


def _multiply(module: nn.Module, name: str, factors: Tensor) -> None:
    """Multiply a hyperparameter of each member, within its constraint."""
    parameter, constraint = module.get_parameter(f"raw_{name}"), getattr(module, f"raw_{name}_constraint")
    value = constraint.transform(parameter) * factors.to(parameter).reshape(-1, *[1] * (parameter.ndim - 1))
    room = 1e-6 * (constraint.upper_bound - constraint.lower_bound).nan_to_num(posinf=0.0)
    value = torch.minimum(torch.maximum(value, constraint.lower_bound + room), constraint.upper_bound - room)
    parameter.copy_(constraint.inverse_transform(value))
