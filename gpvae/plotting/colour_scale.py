"""How scores are coloured: the best are dark, the worst bright."""

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray

from gpvae.metrics.target import Aim

#: Colours from best to worst, which colour-blind readers tell apart.
COLOURS = "cividis"
#: Values beyond the quartiles by more than so many interquartile ranges do not stretch the colours.
OUTLYING = 3.0

Floats = NDArray[np.float64]


def colour_limits(values: Floats) -> tuple[float, float]:
    """The range of the finite values, without the far outliers, and never empty.

    Args:
        values: Any numbers, with at least one finite among them.
    """
    finite = values[np.isfinite(values)]
    lower, upper = np.quantile(finite, [0.25, 0.75])
    reach = OUTLYING * (upper - lower)
    if reach > 0:
        finite = finite[(finite >= lower - reach) & (finite <= upper + reach)]
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 0.01, high + 0.01)


@dataclass(frozen=True)
class Shades:
    """A scale of scores.

    Args:
        low: Its lower end.
        high: Its upper end.
        aim: Which scores are better.
        span: How much worse than the best a score has to be to be as bright as can be.
    """

    low: float
    high: float
    aim: Aim
    span: float = 0.0

    @classmethod
    def of(cls, values: Floats, aim: Aim, span: float = 0.0) -> "Shades":
        """The scale of some scores; what is right belongs to it, whether or not a score is there.

        Args:
            values: Scores, with at least one finite among them.
            aim: Which of them are better.
            span: Scores that lie closer together do not use up all shades.
        """
        low, high = colour_limits(values)
        if np.isfinite(aim.target):
            low, high = min(low, aim.target), max(high, aim.target)
        return cls(low, high, aim, span)

    def badness(self, values: Floats) -> Floats:
        """From 0 for the best of the scale to 1 for the worst; what lies beyond it has the shade of its end.

        Args:
            values: Scores; NaN stays NaN.
        """
        ends = np.array([self.low, self.high])
        best = self.aim.loss(np.clip(self.aim.target, *ends))
        worst = max(self.aim.loss(ends).max(), best + self.span)
        return (self.aim.loss(np.clip(values, *ends)) - best) / (worst - best)

    def colour_map(self) -> ListedColormap:
        """Colours over the scale, from its lower end to its upper end."""
        places = np.linspace(self.low, self.high, 256)
        return ListedColormap(colormaps[COLOURS](self.badness(places)))
