"""Validation of inputs and options."""

import math
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gpvae.utils.spelling import nearest


def inputs(x: ArrayLike | Tensor, like: Tensor, name: str = "x", *, batched: bool = False) -> Tensor:
    """Inputs `[N, D]` of any array type; `[N]` becomes `[N, 1]`.

    Args:
        x: The inputs.
        like: A tensor whose device and dtype the result takes.
        name: Name to use in errors.
        batched: Whether a batch `[*B, N, D]` is allowed, too.
    """
    x = _tensor(x, name).to(like)
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim < 2 or (x.ndim > 2 and not batched):
        raise ValueError(f"{name} must be [N] or [N, D], got shape {tuple(x.shape)}")
    if x.numel() == 0:
        raise ValueError(
            f"{name} of shape {tuple(x.shape)} is empty; a batch needs at least one point of one dimension"
        )
    _finite(x, name)
    return x


def targets(
    y: ArrayLike | Tensor,
    x: Tensor,
    batch_shape: torch.Size,
    name: str = "y",
    *,
    missing: bool = False,
    columns: bool = False,
) -> Tensor:
    """Targets `[*L, N]` of any array type that match the inputs `[N, D]`.

    Args:
        y: The targets; `[N, 1]` becomes `[N]` if there is one output.
        x: The inputs, checked.
        batch_shape: `*L` of the kernel.
        name: Name to use in errors.
        missing: Whether NaN are allowed, as missing values.
        columns: Whether they are given as `[N, K]`, a column for each of K outputs.
    """
    y = _tensor(y, name).to(x)
    if not batch_shape and y.ndim == 2 and y.shape[-1] == 1:
        y = y[:, 0]
    expected = (len(x), *batch_shape) if columns else (*batch_shape, len(x))
    if tuple(y.shape) != expected:
        several = not batch_shape and y.ndim == 2 and len(y) == len(x)
        hint = f"; for {y.shape[-1]} outputs that share a kernel, build the model with num_outputs={y.shape[-1]}"
        raise ValueError(
            f"{name} has shape {tuple(y.shape)}, expected {expected} to match x of shape {tuple(x.shape)}"
            + (hint if several else "")
        )
    y = y.mT if columns else y
    _finite(torch.where(y.isnan(), 0.0, y) if missing else y, name, "infinite" if missing else "NaN or infinite")
    return y


def per_point(
    name: str, values: ArrayLike | Tensor | float, y: Tensor, *, positive: bool, columns: bool = False
) -> Tensor:
    """Values for targets `[*L, N]`, broadcast to their shape; raise unless they are positive, or at least zero.

    Args:
        name: Name to use in errors.
        values: The values.
        y: The targets.
        positive: Whether they must be positive.
        columns: Whether they may be given as `[N, K]`, a column for each of K outputs.
    """
    v = _tensor(values, name).to(y)
    v = v.mT if columns and v.ndim > 1 else v
    try:
        v = v.expand(y.shape)
    except RuntimeError:
        raise ValueError(
            f"{name} has shape {tuple(v.shape)}, expected one value or a shape that broadcasts to that of the targets, "
            f"{tuple(y.shape)}"
        ) from None
    _finite(v, name)
    wrong = v <= 0 if positive else v < 0
    if bool(wrong.any()):
        least = "positive" if positive else "zero or more"
        raise ValueError(f"{name} must be {least}; got {float(v[wrong][0]):g} among them")
    return v


def choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raise unless an option is one of the choices."""
    choices = list(choices)
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}{nearest(value, choices)}")


def positive(**values: float | None) -> None:
    """Raise unless every option is positive and finite, or None."""
    for name, value in values.items():
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}")


def _tensor(values: ArrayLike | Tensor, name: str) -> Tensor:
    if isinstance(values, Tensor):
        return values
    array = np.array(values)  # a copy, because torch does not take read-only or reversed arrays
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has {_what_is_wrong(array, name)}")
    return torch.from_numpy(array)


def _what_is_wrong(array: np.ndarray, name: str) -> str:
    """What an array has instead of numbers, and what to do; only inputs, `x`, may also be datetimes."""
    expected, how = "numbers", "pandas.to_numeric(..., errors='coerce'), which makes NaN of what is no number"
    if name == "x":
        expected, how = "numbers or datetimes", "pandas.to_datetime, durations to hours or days"
    advice = f"expected {expected}; convert text by {how}"
    for where, value in np.ndenumerate(array.astype(object) if array.dtype.kind in "OSU" else np.empty(0)):
        if not isinstance(value, (int, float, np.number)):
            index = where[0] if len(where) == 1 else tuple(where)
            return f"values of type {array.dtype}, such as {value!r} at index {index}, {advice}"
    if array.dtype.kind == "M" and name != "x":
        return f"datetimes, expected {expected}; are inputs and targets exchanged?"
    return f"values of type {array.dtype}, {advice}"


def _finite(values: Tensor, name: str, what: str = "NaN or infinite") -> None:
    bad = ~torch.isfinite(values)
    if bool(bad.any()):
        where = tuple(int(i) for i in bad.nonzero()[0])
        raise ValueError(
            f"{name} has {int(bad.sum())} {what} value(s), the first at index {where}; "
            "remove these points or fill in the values"
        )
