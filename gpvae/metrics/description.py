"""The descriptions of all metrics: labels, which scores are better, and how they are drawn; readable without torch."""

import math
from dataclasses import dataclass

from gpvae.metrics.target import HIGHER, LOWER, Target


@dataclass(frozen=True)
class Description:
    """What tables, figures and reports need to know about a metric.

    Args:
        label: Its name in figures and tables.
        target: Its best score; None if unknown, and then lower scores count as better.
        bounds: The lowest and the highest score possible.
        resolution: Scores that differ by less are drawn in similar colours.
        standardised: Whether scores depend on the units of the targets, which are standardised.
    """

    label: str
    target: Target | None = None
    bounds: tuple[float, float] = (-math.inf, math.inf)
    resolution: float = 0.0
    standardised: bool = False

    @property
    def best(self) -> Target:
        """The target; by default lower scores are better."""
        return self.target or LOWER

    @property
    def hint(self) -> str:
        """` (lower is better)` and the like; empty if the target is unknown."""
        return "" if self.target is None else f" ({self.target})"


#: Metrics of predictive distributions, by short name.
MEASURED = {
    "nlpd": Description("NLPD", LOWER, resolution=0.1, standardised=True),
    "rmse": Description("RMSE", LOWER, (0.0, math.inf), resolution=0.05, standardised=True),
    "crps": Description("CRPS", LOWER, (0.0, math.inf), resolution=0.02, standardised=True),
    "ece": Description("Calibration error", LOWER, (0.0, 1.0), resolution=0.05),
    "coverage": Description("Coverage of 90 % intervals", Target(0.9), (0.0, 1.0), resolution=0.05),
    "accuracy": Description("Accuracy", HIGHER, (0.0, 1.0), resolution=0.05),
}
#: Scores that are computed from others or beside them.
DERIVED = {
    "rmse_physical": Description("RMSE in units of the data", LOWER, (0.0, math.inf)),
    "skill_climatology": Description("Skill over climatology", HIGHER, (-math.inf, 1.0), resolution=0.1),
    "skill_persistence": Description("Skill over persistence", HIGHER, (-math.inf, 1.0), resolution=0.1),
    "skill_variance": Description("Explained variance", HIGHER, (-math.inf, 1.0), resolution=0.1),
}


def describe(name: str) -> Description:
    """The label of a metric, which of its scores are better, and how they are drawn.

    Args:
        name: Its short name, which is also the label of a metric that is not known.
    """
    return (MEASURED | DERIVED).get(name) or Description(name)


def target_of(name: str) -> Target:
    """The best score of a metric; the lowest possible for a metric that is not known.

    Args:
        name: Its short name.
    """
    return describe(name).best
