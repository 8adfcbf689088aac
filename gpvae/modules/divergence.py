"""Divergence of training: the check, and the error."""

from collections.abc import Iterable

import torch
from gpytorch.kernels import Kernel
from torch import Tensor


def is_finite(kernel: Kernel, parameters: Iterable[Tensor]) -> bool:
    """Whether parameters are finite, and lengthscales, which are learnt as logarithms, neither zero nor infinite."""
    scales = [kernel.lengthscale, kernel.lengthscale.reciprocal()]
    return all(bool(torch.isfinite(value).all()) for value in (*parameters, *scales))


def divergence(what: str, task: int, step: int, lr: float, largest: float) -> FloatingPointError:
    """The error to raise, for data whose largest absolute value is `largest`."""
    return FloatingPointError(
        f"{what} in task {task}, step {step}; lower lr (now {lr:g}), or look at the data, whose largest value is "
        f"{largest:.3g}"
    )
