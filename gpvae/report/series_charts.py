"""Series of predictions and observations that readers can zoom into: the data of `templates/series.js`.

Numbers are written as the bytes of arrays, in base64. Values have 16 bits, from the lowest to the highest of their
array, which no screen can tell from the numbers themselves.
"""

import base64
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpvae.plotting.units import readable_location, readable_units
from gpvae.report.palette import Style
from gpvae.results.predicted_series import PredictedSeries

#: Stands for a missing value.
MISSING = 2**16 - 1
#: Least rows of a series that is shown at all.
MIN_ROWS = 2


def series_charts(
    methods: Sequence[tuple[str, Style, Sequence[PredictedSeries]]], max_bytes: float
) -> dict[str, Any] | None:
    """The data of the charts, a chart for each series that any method has; None if there are no series.

    If there is too much of it, there are fewer charts; a single chart has fewer rows.

    Args:
        methods: Label, style and series of each method.
        max_bytes: How large the data may be.
    """
    found: dict[str, list[tuple[int, PredictedSeries]]] = {}
    for number, (_, _, series) in enumerate(methods):
        for one in series:
            if len(one.input) >= MIN_ROWS:
                found.setdefault(_name(one), []).append((number, one))
    arrays, every = _Arrays(), 1
    charts: list[dict[str, Any]] = []
    for name, predicted in found.items():
        chart, extended = _chart(name, predicted, every, arrays)
        while not charts and extended.size > max_bytes and every < len(predicted[0][1].input):
            every *= 2
            chart, extended = _chart(name, predicted, every, arrays)
        if charts and extended.size > max_bytes:
            break
        charts.append(chart)
        arrays = extended
    if not charts:
        return None
    drawn = [{"label": label, "colour": style.colour, "dash": _dash(style)} for label, style, _ in methods]
    return {"methods": drawn, "charts": charts, "arrays": arrays.encoded}


class _Arrays:
    """Arrays in base64, each of which is there only once."""

    def __init__(self, numbers: Mapping[str, int] = MappingProxyType({})) -> None:
        self._numbers = dict(numbers)

    def copy(self) -> "_Arrays":
        return _Arrays(self._numbers)

    @property
    def encoded(self) -> list[str]:
        return list(self._numbers)

    @property
    def size(self) -> int:
        return sum(map(len, self._numbers))

    def add(self, array: NDArray[Any]) -> int:
        """The number of an array."""
        return self._numbers.setdefault(base64.b64encode(array.tobytes()).decode(), len(self._numbers))

    def add_values(self, values: NDArray[np.float64]) -> dict[str, Any]:
        """The number of an array of values, and what its least and greatest integer mean."""
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        levels = (values - low) / ((high - low) or 1.0) * (MISSING - 1)
        integers = np.where(np.isfinite(values), levels.round(), MISSING).astype("<u2")
        return {"array": self.add(integers), "low": low, "high": high}


def _chart(
    name: str, predicted: Sequence[tuple[int, PredictedSeries]], every: int, known: _Arrays
) -> tuple[dict[str, Any], _Arrays]:
    """A chart of every n-th row, and its arrays with those known; the observations are those of the first method."""
    arrays, first = known.copy(), predicted[0][1]
    factor, units = readable_units(first.units, float(np.nan_to_num(np.abs(first.mean)).max()))
    begins = np.flatnonzero(np.diff(first.task) > 0) + 1

    def inputs(one: PredictedSeries) -> NDArray[np.float64]:
        dates = one.input.dtype.kind == "M"
        return (one.input.astype("datetime64[ms]") if dates else one.input).astype("<f8")

    def values(some: NDArray[np.float64]) -> dict[str, Any]:
        return arrays.add_values(factor * some[::every])

    chart = {
        "name": name,
        "units": units if first.units else "",
        "dates": first.input.dtype.kind == "M",
        "tasks": inputs(first)[begins].tolist() if (np.diff(first.task) >= 0).all() else [],
        "input": arrays.add(inputs(first)[::every]),
        "learnt": values(np.where(first.held_out, np.nan, first.observed)),
        "heldOut": values(np.where(first.held_out, first.observed, np.nan)),
        "predictions": [
            {
                "method": method,
                "input": arrays.add(inputs(one)[::every]),
                **{part: values(getattr(one, part)) for part in ("mean", "lower", "upper")},
            }
            for method, one in predicted
        ],
    }
    return chart, arrays


def _name(series: PredictedSeries) -> str:
    return series.variable if series.location is None else f"{series.variable} at {readable_location(*series.location)}"


def _dash(style: Style) -> list[float]:
    return [] if isinstance(style.line, str) else [1.5 * part for part in style.line[1]]
