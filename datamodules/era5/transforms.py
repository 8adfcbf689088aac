"""From the units of files to a scale on which a Gaussian fits better, and back."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor


@dataclass(frozen=True)
class Transform:
    """A factor, limits and a curve; monotone, so quantiles stay quantiles.

    The way back never leaves the limits: a Gaussian may put some mass on negative rain, but no rain is negative.

    Args:
        factor: What values in files are multiplied by.
        least: The least value there can be, after the factor; values below come from rounding.
        most: The largest value there can be, after the factor.
        curve: "linear" leaves it at that; "log" and "log1p" take that logarithm.
    """

    factor: float = 1.0
    least: float | None = None
    most: float | None = None
    curve: Literal["linear", "log", "log1p"] = "linear"

    @property
    def needs_units(self) -> bool:
        """Whether the transform is for particular units only."""
        return self.factor != 1.0 or self.curve != "linear"

    def to_model(self, values: Tensor) -> Tensor:
        """Values to learn from.

        Args:
            values: As in files; NaN stays NaN.
        """
        values = self._within(values * self.factor)
        if self.curve == "log":
            return values.log()
        return values.log1p() if self.curve == "log1p" else values

    def to_physical(self, values: Tensor) -> Tensor:
        """Values as in files, from what `to_model` gives or a model makes up.

        Args:
            values: On the scale of the model.
        """
        if self.curve == "log":
            values = values.exp()
        elif self.curve == "log1p":
            values = values.expm1()
        return self._within(values) / self.factor

    def _within(self, values: Tensor) -> Tensor:
        return values if self.least is None and self.most is None else values.clamp(self.least, self.most)


IDENTITY = Transform()
