"""Metrics by short name, and the metrics for each likelihood."""

import math

from torchmetrics import Metric

from gpvae.metrics.calibration import ECE
from gpvae.metrics.crps import CRPS
from gpvae.metrics.description import Description
from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage
from gpvae.metrics.target import HIGHER, LOWER, Target

METRICS: dict[str, type[NLPD | RMSE | CRPS | ECE | Coverage | Accuracy]] = {
    "nlpd": NLPD,
    "rmse": RMSE,
    "crps": CRPS,
    "ece": ECE,
    "coverage": Coverage,
    "accuracy": Accuracy,
}
#: Scores that are computed from others or beside them.
DERIVED = {
    "rmse_physical": Description("RMSE in units of the data", LOWER, (0.0, math.inf)),
    "skill_climatology": Description("Skill over climatology", HIGHER, (-math.inf, 1.0), resolution=0.1),
    "skill_persistence": Description("Skill over persistence", HIGHER, (-math.inf, 1.0), resolution=0.1),
    "skill_variance": Description("Explained variance", HIGHER, (-math.inf, 1.0), resolution=0.1),
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


def describe(name: str) -> Description:
    """The label of a metric, which of its scores are better, and how they are drawn.

    Args:
        name: Its short name, which is also the label of a metric that is not known.
    """
    return METRICS[name].description if name in METRICS else DERIVED.get(name, Description(name))


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
