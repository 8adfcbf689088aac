"""A netCDF file of predictions that follows the CF conventions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import netCDF4
import numpy as np
from numpy.typing import NDArray

from datamodules.era5 import Coordinates, Variable
from datamodules.era5.cf_attributes import cf_attributes

Floats = NDArray[np.float32]


class PredictionFile:
    """Mean, standard deviation and quantiles of variables, at locations and times.

    Locations that form a grid are written as a grid, over `time`, `latitude` and `longitude`; others as a list of time
    series, over `location` and `time`. Latitudes and longitudes keep their values and precision. Close the file at the
    end.

    Args:
        path: The file.
        coordinates: Coordinates of the locations, and the origin of time.
        seconds: Times, whole seconds since the origin `[T]`.
        quantiles: Probabilities of the quantiles `[Q]`.
        attributes: Attributes of the file.
    """

    def __init__(
        self,
        path: Path,
        coordinates: Coordinates,
        *,
        seconds: NDArray[np.int64],
        quantiles: Sequence[float],
        attributes: Mapping[str, str],
    ) -> None:
        self._file = netCDF4.Dataset(str(path), "w", format="NETCDF4")
        self._grid = find_grid(coordinates)
        kind = {} if self._grid is not None else {"featureType": "timeSeries"}
        self._file.setncatts({"Conventions": "CF-1.8", **attributes, **kind})
        start = np.datetime_as_string(coordinates.origin, unit="s").replace("T", " ")
        self._add_axis("time", seconds, axis="T", units=f"seconds since {start}", calendar="proleptic_gregorian")
        north = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north"}
        east = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east"}
        kinds = [f"{axis.dtype.kind}{axis.dtype.itemsize}" for axis in coordinates[:2]]
        if self._grid is not None:
            rows, columns = self._grid
            # CF wants monotonic axes: longitudes from 0 to 360 are not around Greenwich.
            self._columns = np.arange(len(columns)) if _is_monotonic(columns) else np.argsort(columns)
            self._add_axis("latitude", rows, kinds[0], axis="Y", **north)
            self._add_axis("longitude", columns[self._columns], kinds[1], axis="X", **east)
            self._dims: tuple[str, ...] = ("time", "latitude", "longitude")
        else:
            self._add_axis("location", np.arange(len(coordinates.latitude)), "i4", cf_role="timeseries_id")
            self._add_variable("latitude", kinds[0], ("location",), coordinates.latitude, north)
            self._add_variable("longitude", kinds[1], ("location",), coordinates.longitude, east)
            self._dims = ("location", "time")
        self._add_axis("quantile", np.asarray(quantiles), units="1", long_name="probability of values not above")

    def write(self, variable: Variable, mean: Floats, deviation: Floats, quantiles: Floats) -> None:
        """Write the predictions of a variable.

        Args:
            variable: The variable.
            mean: Means `[S, T]`.
            deviation: Standard deviations `[S, T]`.
            quantiles: Quantiles `[Q, S, T]`.
        """
        name, attributes = variable.short_name, cf_attributes(variable)
        long_name, standard_name = attributes["long_name"], attributes.pop("standard_name", None)
        location = {} if self._grid is not None else {"coordinates": "latitude longitude"}
        own = {} if standard_name is None else {"standard_name": standard_name}
        error = {} if standard_name is None else {"standard_name": f"{standard_name} standard_error"}
        others = {"ancillary_variables": f"{name}_std {name}_quantiles"}
        parts = {
            "": (mean, "mean", {**own, **others}),
            "_std": (deviation, "standard deviation", error),
            "_quantiles": (quantiles, "quantiles", own),
        }
        for suffix, (values, statistic, more) in parts.items():
            named = {**attributes, "long_name": f"{long_name}, predictive {statistic}", **more, **location}
            dims = (*(("quantile",) if suffix == "_quantiles" else ()), *self._dims)
            self._add_variable(name + suffix, "f4", dims, self._arrange(values), named)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _arrange(self, values: Floats) -> Floats:
        """Arrange values `[..., S, T]` in the dimensions of the file."""
        if self._grid is None:
            return values
        size = len(self._grid[0]), len(self._grid[1])
        return np.moveaxis(values.reshape(*values.shape[:-2], *size, values.shape[-1]), -1, -3)[..., self._columns]

    def _add_axis(self, name: str, values: NDArray[np.generic], kind: str = "f8", **attributes: str) -> None:
        self._file.createDimension(name, len(values))
        named = {"long_name": name, **attributes}
        if name == "time":
            named["standard_name"] = "time"
        self._add_variable(name, kind, (name,), values, named)

    def _add_variable(
        self, name: str, kind: str, dims: tuple[str, ...], values: NDArray[np.generic], attributes: Mapping[str, str]
    ) -> None:
        variable = self._file.createVariable(name, kind, dims, compression="zlib", complevel=4, fill_value=False)
        variable.setncatts(attributes)
        variable[:] = values


def find_grid(coordinates: Coordinates) -> tuple[NDArray[np.generic], NDArray[np.generic]] | None:
    """Return latitudes and longitudes of the grid that locations form, row by row; None if they form none.

    Longitudes may pass from 360 to 0 degrees within a row.
    """
    latitude, longitude = coordinates.latitude, coordinates.longitude
    width = int(np.argmax(latitude != latitude[0]))  # of the first row
    if width < 2 or len(latitude) % width:
        return None
    rows, columns = latitude[::width], longitude[:width]
    whole = np.array_equal(latitude, rows.repeat(width)) and np.array_equal(longitude, np.tile(columns, len(rows)))
    ordered = _is_monotonic(rows) and _is_monotonic((columns.astype(np.float64) + 180) % 360)
    return (rows, columns) if whole and ordered else None


def _is_monotonic(axis: NDArray[np.generic]) -> bool:
    """Whether values strictly increase, or strictly decrease."""
    steps = np.sign(np.diff(axis))
    return len(steps) > 0 and abs(steps.sum()) == len(steps)
