"""The description of a metric: its label, which of its scores are better, and how they are drawn."""

import math
from dataclasses import dataclass

from gpvae.metrics.target import LOWER, Target


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
