"""Kernels, likelihoods and means in one line, with the values of their parameters."""

from gpytorch.kernels import AdditiveKernel, ProductKernel, ScaleKernel
from torch import Tensor, nn


def describe(module: nn.Module) -> str:
    """A gpytorch module as an expression, such as `1.3 * Matern(nu=1.5, lengthscale=0.7)`."""
    if isinstance(module, ScaleKernel):
        base = describe(module.base_kernel)
        return f"{_values(module.outputscale)} * {f'({base})' if ' + ' in base else base}"
    if isinstance(module, AdditiveKernel):
        return " + ".join(map(describe, module.kernels))
    if isinstance(module, ProductKernel):
        return " * ".join(f"({part})" if " + " in (part := describe(kernel)) else part for kernel in module.kernels)
    name = type(module).__name__.removesuffix("Kernel").removesuffix("Likelihood").removesuffix("Mean")
    options = [f"nu={module.nu}"] if hasattr(module, "nu") else []
    return f"{name}({', '.join([*options, *_parameters(module)])})"


def _parameters(module: nn.Module) -> list[str]:
    """The constrained values of all parameters of a module, or raw ones where there are no others."""
    found = []
    for path, parameter in module.named_parameters():
        owner, _, raw_name = path.rpartition(".")
        name = raw_name.removeprefix("raw_")
        found.append(f"{name}={_values(getattr(module.get_submodule(owner), name, parameter))}")
    return found


def _values(values: Tensor) -> str:
    """One value, or the smallest and the largest of several."""
    low, high = (float(value) for value in values.detach().aminmax())
    return f"{low:.3g}" if low == high else f"{low:.3g}...{high:.3g}"
