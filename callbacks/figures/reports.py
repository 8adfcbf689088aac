"""What a callback must offer to have its scores drawn, and how metrics are written."""

import math
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gpvae.metrics.registry import METRICS, aim_of
from gpvae.metrics.target import HIGHER, LOWER

#: How metrics are written; others as they are called.
NAMES = {
    "nlpd": "NLPD",
    "rmse": "RMSE",
    "ece": "Calibration error",
    "coverage": "Coverage of 90 % intervals",
    "accuracy": "Accuracy",
}
#: Differences that are small change: scores that lie closer together do not use up all shades.
LEAST_SPANS = {"nlpd": 0.1, "rmse": 0.05, "ece": 0.05, "coverage": 0.05, "accuracy": 0.05}
#: Values that no score goes beyond.
BOUNDS = {"rmse": (0.0, math.inf), "ece": (0.0, 1.0), "coverage": (0.0, 1.0), "accuracy": (0.0, 1.0)}
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
    aim = aim_of(metric)
    words = {LOWER: "lower is better", HIGHER: "higher is better"}
    return f" ({words.get(aim, f'{aim.target:g} is right')})"
