"""Transforms from the units of files to a scale on which a Gaussian fits better, and back."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor


@dataclass(frozen=True)
class Transform:
    """A factor, bounds and a curve; monotone, so quantiles stay quantiles.

    The inverse respects the bounds: a Gaussian may put some mass on negative rain, but no rain is negative.

    Args:
        factor: The factor that values in files are multiplied by.
        low: The lower bound, after the factor; values below it come from rounding.
        high: The upper bound, after the factor.
        curve: "linear" applies no curve; "log" and "log1p" take that logarithm.
    """

    factor: float = 1.0
    low: float | None = None
    high: float | None = None
    curve: Literal["linear", "log", "log1p"] = "linear"

    @property
    def needs_units(self) -> bool:
        """Whether the transform is valid for particular units only."""
        return self.factor != 1.0 or self.curve != "linear"

    def to_model(self, values: Tensor) -> Tensor:
        """Values on the scale of the model.

        Args:
            values: In the units of files; NaN stays NaN.
        """
        values = self._clamp(values * self.factor)
        if self.curve == "log":
            return values.log()
        return values.log1p() if self.curve == "log1p" else values

    def to_physical(self, values: Tensor) -> Tensor:
        """Values in the units of files.

        Args:
            values: On the scale of the model.
        """
        if self.curve == "log":
            values = values.exp()
        elif self.curve == "log1p":
            values = values.expm1()
        return self._clamp(values) / self.factor

    def _clamp(self, values: Tensor) -> Tensor:
        return values if self.low is None and self.high is None else values.clamp(self.low, self.high)


IDENTITY = Transform()
