"""What a callback must offer to have its scores drawn, and how metrics are written."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gpvae.metrics.registry import METRICS

#: How metrics are written; others as they are called.
NAMES = {
    "nlpd": "NLPD",
    "rmse": "RMSE",
    "ece": "Calibration error",
    "coverage": "Coverage of 90 % intervals",
    "accuracy": "Accuracy",
}
HIGHER_IS_BETTER = {name for name, metric in METRICS.items() if metric.higher_is_better}
#: Metrics that depend on the units of the values.
ON_A_SCALE = {"nlpd", "rmse"}


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


def hint(metric: str) -> str:
    """Which way is better, where that is known."""
    if metric not in METRICS:
        return ""
    if metric == "coverage":  # more than is promised is no better than less
        return " (0.9 is right)"
    return " (higher is better)" if metric in HIGHER_IS_BETTER else " (lower is better)"
