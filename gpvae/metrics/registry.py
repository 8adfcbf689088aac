"""Metrics by short name, and the metrics for each likelihood."""

from torchmetrics import Metric

from gpvae.metrics.calibration import ECE
from gpvae.metrics.description import Description
from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage
from gpvae.metrics.target import Target

METRICS: dict[str, type[NLPD | RMSE | ECE | Coverage | Accuracy]] = {
    "nlpd": NLPD,
    "rmse": RMSE,
    "ece": ECE,
    "coverage": Coverage,
    "accuracy": Accuracy,
}

_BY_LIKELIHOOD = {
    "gaussian": ["nlpd", "rmse", "ece"],
    "negative_binomial": ["nlpd", "rmse", "ece"],
    "poisson": ["nlpd", "rmse", "ece"],
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


def describe(name: str) -> Description:
    """The label of a metric, which of its scores are better, and how they are drawn.

    Args:
        name: Its short name, which is also the label of a metric that is not in `METRICS`.
    """
    return METRICS[name].description if name in METRICS else Description(name)


def target_of(name: str) -> Target:
    """The best score of a metric; the lowest possible for a metric that is not in `METRICS`.

    Args:
        name: Its short name.
    """
    return describe(name).best


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
