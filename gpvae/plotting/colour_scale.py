"""Colours of scores, from dark for the best to bright for the worst."""

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray

from gpvae.metrics import Description, Target

#: Colour map from best to worst, which colour-blind readers can tell apart.
COLOURS = "cividis"
#: Outliers, which the scale does not cover, lie more than this many interquartile ranges beyond the quartiles.
OUTLIER_RANGE = 3.0

Floats = NDArray[np.float64]


def colour_limits(values: Floats) -> tuple[float, float]:
    """The range of the finite values without outliers; never empty.

    Args:
        values: Numbers, at least one of them finite.
    """
    finite = values[np.isfinite(values)]
    lower, upper = np.quantile(finite, [0.25, 0.75])
    reach = OUTLIER_RANGE * (upper - lower)
    if reach > 0:
        finite = finite[(finite >= lower - reach) & (finite <= upper + reach)]
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 0.01, high + 0.01)


@dataclass(frozen=True)
class ColourScale:
    """A colour scale for the scores of one metric.

    Args:
        low: Its lower end.
        high: Its upper end.
        target: The best score.
        resolution: The brightest colour stands for scores at least this much worse than the best.
    """

    low: float
    high: float
    target: Target
    resolution: float = 0.0

    @classmethod
    def of(cls, values: Floats, metric: Description) -> "ColourScale":
        """The scale of some scores; it includes a finite target even if no score is near it.

        Args:
            values: Scores, at least one of them finite.
            metric: The metric.
        """
        low, high = colour_limits(values)
        if np.isfinite(metric.best.value):
            low, high = min(low, metric.best.value), max(high, metric.best.value)
        return cls(low, high, metric.best, metric.resolution)

    def relative_loss(self, values: Floats) -> Floats:
        """The loss of scores, from 0 at the best end of the scale to 1 at the worst; scores are clipped to the scale.

        Args:
            values: Scores; NaN stays NaN.
        """
        ends = np.array([self.low, self.high])
        best = self.target.loss(np.clip(self.target.value, *ends))
        worst = max(self.target.loss(ends).max(), best + self.resolution)
        return (self.target.loss(np.clip(values, *ends)) - best) / (worst - best)

    def colour_map(self) -> ListedColormap:
        """Colours over the scale, from its lower end to its upper end."""
        scores = np.linspace(self.low, self.high, 256)
        return ListedColormap(colormaps[COLOURS](self.relative_loss(scores)))
