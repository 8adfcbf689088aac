"""Impossible values are masked and reported, or refused if there are many."""

from dataclasses import dataclass

import numpy as np
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray

from datamodules.era5.fields import Fields, Values
from datamodules.era5.limits import FILLS, MAX_OUTLIERS, are_among, limits_of, robust_limits
from datamodules.era5.variables import Variable


@dataclass
class Finding:
    """Masked values of a variable.

    Args:
        count: Their number.
        first: A description of the first of them.
    """

    count: int
    first: str


class Screen:
    """Masks values of a stream that are beyond limits, task by task. Tasks in memory and on disk are treated alike.

    Args:
        fields: The data of the stream.
    """

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.limits = [limits_of(variable) for variable in fields.variables]
        self.fills: list[Finding | None] = [None] * len(fields.variables)
        self.beyond: list[Finding | None] = [None] * len(fields.variables)

    def __call__(self, values: Values, first: int) -> Values:
        """The values of a task, with NaN instead of impossible ones.

        Args:
            values: The values as they were read `[S, t, V]`; not changed in place.
            first: The index of the first hour.

        Raises:
            ValueError: A variable has too many impossible values.
        """
        screened = values
        for number in range(len(self.fields.variables)):
            wrong = self.impossible(number, values[..., number], first)
            if wrong.any():
                screened = screened.copy() if screened is values else screened
                screened[..., number][wrong] = np.nan
        return screened

    def impossible(self, number: int, some: Values, first: int) -> NDArray[np.bool_]:
        """Which values of a variable are impossible, or mark gaps though the files do not say so; they are counted.

        Args:
            number: The index of the variable.
            some: Its values in a task `[S, t]`.
            first: The index of the first hour.

        Raises:
            ValueError: There are too many.
        """
        fills = self.fields.fills[number] if self.fields.fills else FILLS
        low, high = self.limits[number] or robust_limits(some, fills)
        wrong = (some < low) | (some > high)
        if not wrong.any():
            return wrong
        missing = wrong.copy()
        missing[wrong] = are_among(some[wrong], fills)
        beyond = wrong & ~missing
        observed = int(np.isfinite(some).sum() - missing.sum())
        if beyond.sum() > MAX_OUTLIERS * observed:
            raise ValueError(self._refusal(number, some, beyond, first, observed, (low, high)))
        self.fills[number] = self._added(self.fills[number], number, some, missing, first)
        self.beyond[number] = self._added(self.beyond[number], number, some, beyond, first)
        return wrong

    def report(self) -> None:
        """Log what was masked, once for each variable."""
        for variable, fill, beyond in zip(self.fields.variables, self.fills, self.beyond, strict=True):
            if fill is not None:
                rank_zero_info(
                    f"{variable.short_name}: {fill.count:,} values mark gaps, though the files do not say so, and "
                    f"count as missing: the first is {fill.first}."
                )
            if beyond is not None:
                rank_zero_info(
                    f"{variable.short_name}: {beyond.count:,} values are physically impossible and count as missing: "
                    f"the first is {beyond.first}."
                )

    def _added(
        self, known: Finding | None, number: int, some: Values, masked: NDArray[np.bool_], first: int
    ) -> Finding | None:
        count = int(masked.sum())
        if not count:
            return known
        return (
            Finding(count, self._first(number, some, masked, first))
            if known is None
            else Finding(known.count + count, known.first)
        )

    def _first(self, number: int, some: Values, masked: NDArray[np.bool_], first: int) -> str:
        """A description of the first masked value: the number, its units, hour and file."""
        fields, variable = self.fields, self.fields.variables[number]
        hour = int(masked.any(axis=0).argmax())
        value = some[masked[:, hour].argmax(), hour]
        time = fields.origin + np.timedelta64(round(3600 * float(fields.hours[first + hour])), "s")
        file = fields.file_of(number, first + hour)
        return f"{value:g} {variable.units} at {np.datetime_as_string(time, unit='m')}{f' in {file}' if file else ''}"

    def _refusal(
        self,
        number: int,
        some: Values,
        beyond: NDArray[np.bool_],
        first: int,
        observed: int,
        limits: tuple[float, float],
    ) -> str:
        variable: Variable = self.fields.variables[number]
        low, high = limits
        return (
            f"{variable.short_name} ({variable.name}) has {beyond.sum():,} of {observed:,} values beyond {low:g} to "
            f"{high:g} {variable.units}, more than {MAX_OUTLIERS:.0%}: the first is "
            f"{self._first(number, some, beyond, first)}. Check its units (attribute `units`; `{variable.short_name} "
            "[units]` in the header of a table), download the file again, or leave it out of `variables`."
        )
