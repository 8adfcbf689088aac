"""What is said when training diverges."""

from collections.abc import Iterable

import torch
from gpytorch.kernels import Kernel
from torch import Tensor


def is_finite(kernel: Kernel, parameters: Iterable[Tensor]) -> bool:
    """Whether parameters are finite, and lengthscales, which are learnt as logarithms, neither zero nor infinite."""
    scales = [kernel.lengthscale, kernel.lengthscale.reciprocal()]
    return all(bool(torch.isfinite(value).all()) for value in (*parameters, *scales))


def divergence(what: str, task: int, step: int, lr: float, largest: float) -> FloatingPointError:
    """The error to raise when training has diverged.

    Args:
        what: What happened.
        task: The task, from 1.
        step: The step.
        lr: The learning rate.
        largest: The largest absolute value of the data.
    """
    return FloatingPointError(
        f"{what} in task {task}, step {step}; lower lr (now {lr:g}), or look at the data, whose largest value is "
        f"{largest:.3g}"
    )
