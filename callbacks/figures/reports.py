"""What a callback must offer to have its scores drawn."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Report(Protocol):
    """A callback that knows how well each task is predicted after each task."""

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""

    def matrix(self, metric: str) -> NDArray[np.float64]:
        """`[after, task]`, NaN where there is no value."""


@runtime_checkable
class ReportByVariable(Protocol):
    """A callback that knows the same of each variable."""

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""

    @property
    def variables(self) -> list[str]:
        """Names of the variables."""

    def matrix(self, metric: str, variable: str = "") -> NDArray[np.float64]:
        """`[after, task]`, NaN where there is no value."""
