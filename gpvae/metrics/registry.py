"""Metrics by short name, what is better by them, and which of them fit a likelihood."""

from torchmetrics import Metric

from gpvae.metrics.calibration import ECE
from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage
from gpvae.metrics.target import HIGHER, LOWER, Aim

METRICS: dict[str, type[Metric]] = {
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
    """The metric of a short name.

    Args:
        name: One of `METRICS`.

    Raises:
        ValueError: There is none of that name.
    """
    if name not in METRICS:
        raise ValueError(f"no metric is called {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]


def aim_of(name: str) -> Aim:
    """Which scores of a metric are better; lower ones, of a metric that is not known.

    Args:
        name: Short name of the metric.
    """
    metric = METRICS.get(name)
    if metric is not None and hasattr(metric, "target"):
        return Aim(float(metric.target))
    return HIGHER if metric is not None and metric.higher_is_better else LOWER


def for_likelihood(name: str) -> list[str]:
    """Short names of the metrics that fit a likelihood.

    Args:
        name: `gaussian`, `negative_binomial`, `poisson` or `bernoulli`.

    Raises:
        ValueError: There is no such likelihood.
    """
    if name not in _BY_LIKELIHOOD:
        raise ValueError(f"no likelihood is called {name!r}; there are {', '.join(_BY_LIKELIHOOD)}")
    return list(_BY_LIKELIHOOD[name])
