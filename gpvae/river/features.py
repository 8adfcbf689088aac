"""Dictionaries of features as rows of numbers."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import torch
from torch import Tensor


class Features:
    """The features of a stream: those of its first point, in the order of their names.

    A feature that is absent from a later point counts as zero, as in other river models. One that appears later is
    ignored.

    Args:
        first: The first point.
    """

    def __init__(self, first: Mapping[Any, Any]) -> None:
        if not first:
            raise ValueError("the first point of a stream has no features: give at least one")
        self.names = sorted(first, key=str)

    def __len__(self) -> int:
        """Number of features D."""
        return len(self.names)

    def row(self, x: Mapping[Any, Any]) -> Tensor:
        """The values of a point, `[1, D]`."""
        return torch.tensor([[_number(name, x.get(name, 0.0)) for name in self.names]], dtype=torch.float64)


def _number(name: object, value: object) -> float:
    if not isinstance(value, Real):
        raise ValueError(
            f"feature {name!r} is {value!r}, but a Gaussian process needs numbers: put a transformer before the model, "
            "such as river.preprocessing.OneHotEncoder for words or StatImputer for missing values"
        )
    return float(value)
