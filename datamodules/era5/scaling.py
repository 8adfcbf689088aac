"""Scaling of every variable to mean 0 and variance 1, and back to the units of files."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from datamodules.era5.variables import Variable

SERIES_AT_ONCE = 1024  # converted to double precision together


@dataclass(frozen=True)
class Scaling:
    """The transform of each variable, followed by standardisation.

    Args:
        variables: V variables.
        mean: The mean of each series and variable `[S, V]`.
        deviation: The standard deviation of each variable `[V]`.
    """

    variables: tuple[Variable, ...]
    mean: Tensor
    deviation: Tensor

    @classmethod
    def fit(
        cls, variables: Sequence[Variable], values: Tensor, mask: Tensor, positions: Tensor | None = None
    ) -> "Scaling":
        """The scaling that gives these values mean 0 and variance 1 in every variable.

        Variables that depend on height have a mean for each series, and one deviation from these means for all series.
        A variable that is constant here, such as sunlight in a polar night, is only shifted.

        Args:
            variables: V variables.
            values: In the units of files `[S, T, V]`.
            mask: Which of them are observed `[S, T, V]`, at least one of each variable.
            positions: Latitude, longitude and, if known, height of each series `[S, P]`, from which the own means of
                series without values follow; else these have the common mean.
        """
        missing = [v.short_name for v, seen in zip(variables, mask.flatten(0, 1).any(dim=0), strict=True) if not seen]
        if missing:
            raise ValueError(
                f"No value of {', '.join(missing)} is observed in the training hours of the first task, which set the "
                "scale of every variable: choose another start, other locations, or leave them out."
            )
        parts = list(zip(values.split(SERIES_AT_ONCE), mask.split(SERIES_AT_ONCE), strict=True))
        sums = torch.cat([_observed(variables, *part).sum(dim=1) for part in parts])
        count = mask.sum(dim=1)
        pooled = sums.sum(dim=0) / count.sum(dim=0)
        own = sums / count.clamp(min=1)
        per_location = torch.tensor([variable.per_location for variable in variables])
        expected = pooled if positions is None else expected_means(positions, own, count > 0, pooled)[0]
        mean = torch.where(per_location, own.where(count > 0, expected), pooled)
        squares = torch.zeros_like(pooled)
        for (some, observed), centre in zip(parts, mean.split(SERIES_AT_ONCE), strict=True):
            residuals = (_observed(variables, some, observed) - centre[:, None]).square()
            squares += residuals.where(observed, 0.0).sum(dim=(0, 1))
        deviation = (squares / count.sum(dim=0)).sqrt()
        constant = deviation <= 1e-6 * pooled.abs().clamp(min=1e-30)  # as constant as single precision can be
        return cls(tuple(variables), mean, deviation.where(~constant, 1.0))

    def to_model(self, values: Tensor, series: Tensor | None = None) -> Tensor:
        """Values on the scale of the model, double precision.

        Args:
            values: In the units of files `[B, T, V]`; NaN stays NaN.
            series: Which series these are `[B]`; all if not given.
        """
        mean = self.mean if series is None else self.mean[series]
        return (_transformed(self.variables, values.double()) - mean[:, None]) / self.deviation

    def to_physical(self, values: Tensor, series: Tensor) -> Tensor:
        """Values in the units of files, double precision.

        Args:
            values: On the scale of the model `[..., B, T, V]`: means, samples or quantiles, not deviations.
            series: Which series these are `[B]`.
        """
        mean, deviation = (part.to(values.device) for part in (self.mean[series.cpu()], self.deviation))
        values = values.double() * deviation + mean[:, None]
        columns = [v.transform.to_physical(values[..., i]) for i, v in enumerate(self.variables)]
        return torch.stack(columns, dim=-1)


def expected_means(positions: Tensor, means: Tensor, known: Tensor, otherwise: Tensor) -> tuple[Tensor, Tensor]:
    """The means `[S, V]` that a plane through known ones gives, curved along the last coordinate, by least squares.

    Args:
        positions: Latitude, longitude and perhaps height `[S, P]`.
        means: Means `[S, V]`.
        known: Which of them are known `[S, V]`.
        otherwise: Means of variables of which too few are known `[V]`.

    Returns:
        The means, and the mean square of their errors, found by leaving out known ones one by one `[V]`.
    """
    centred = (positions - positions.mean(0)) / positions.std(0, correction=0).clamp_min(1e-9)
    design = torch.cat([torch.ones_like(centred[:, :1]), centred, centred[:, -1:].square()], -1)
    result = otherwise.expand_as(means).clone()
    errors = torch.zeros_like(otherwise)
    for number, rows in enumerate(known.unbind(-1)):
        values, own = means[rows, number, None], design[rows]
        residual, leverage = values - otherwise[number], torch.zeros_like(values)
        if len(own) > 2 * own.shape[1]:
            inverse = torch.linalg.pinv(own)
            result[:, number] = (design @ (inverse @ values))[:, 0]
            residual, leverage = values - own @ (inverse @ values), (own * inverse.mT).sum(-1, keepdim=True)
        errors[number] = (residual / (1 - leverage).clamp_min(1e-3)).square().mean() if len(own) else 0.0
    return result, errors


def _observed(variables: Sequence[Variable], values: Tensor, mask: Tensor) -> Tensor:
    """Transformed values, 0 where they are missing."""
    return _transformed(variables, values.double()).where(mask, 0.0)


def _transformed(variables: Sequence[Variable], values: Tensor) -> Tensor:
    return torch.stack([v.transform.to_model(values[..., i]) for i, v in enumerate(variables)], dim=-1)
