"""Metrics by short name, and the metrics for each likelihood."""

from torchmetrics import Metric

from gpvae.metrics.calibration import ECE
from gpvae.metrics.crps import CRPS
from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage

METRICS: dict[str, type[NLPD | RMSE | CRPS | ECE | Coverage | Accuracy]] = {
    "nlpd": NLPD,
    "rmse": RMSE,
    "crps": CRPS,
    "ece": ECE,
    "coverage": Coverage,
    "accuracy": Accuracy,
}
_BY_LIKELIHOOD = {
    "gaussian": ["nlpd", "rmse", "crps", "ece"],
    "negative_binomial": ["nlpd", "rmse", "crps", "ece"],
    "poisson": ["nlpd", "rmse", "crps", "ece"],
    "bernoulli": ["nlpd", "accuracy"],
}


def find_metric(name: str) -> type[Metric]:
    """Find a metric by its short name.

    Args:
        name: One of `METRICS`.

    Raises:
        ValueError: The name is unknown.
    """
    if name not in METRICS:
        raise ValueError(f"no metric is called {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]


def for_likelihood(name: str) -> list[str]:
    """Short names of the metrics for a likelihood.

    Args:
        name: `gaussian`, `negative_binomial`, `poisson` or `bernoulli`.

    Raises:
        ValueError: The name is unknown.
    """
    if name not in _BY_LIKELIHOOD:
        raise ValueError(f"no likelihood is called {name!r}; there are {', '.join(_BY_LIKELIHOOD)}")
    return list(_BY_LIKELIHOOD[name])
