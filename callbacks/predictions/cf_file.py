"""Predictions that follow the CF conventions, as a netCDF file or a dataset of xarray."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5 import Coordinates, Variable
from datamodules.era5.cf_attributes import cf_attributes
from gpvae.utils.netcdf_lock import LOCK

Floats = NDArray[np.float32]
#: Dimensions of predictions beside time and location.
FURTHER_DIMENSION = {"_quantiles": ("quantile",), "_samples": ("sample",)}


class PredictionWriter(ABC):
    """Mean, standard deviation and quantiles of variables, at locations and times.

    Locations that form a grid are written as a grid, over `time`, `latitude` and `longitude`; others as a list of time
    series, over `location` and `time`. Latitudes and longitudes keep their values and precision.

    Args:
        coordinates: Coordinates of the locations, and the origin of time.
        seconds: Times, seconds since the origin `[T]`.
        quantiles: Probabilities of the quantiles `[Q]`.
        attributes: Attributes of the file.
    """

    def __init__(
        self,
        coordinates: Coordinates,
        *,
        seconds: NDArray[np.number],
        quantiles: Sequence[float],
        attributes: Mapping[str, str],
    ) -> None:
        self._grid = find_grid(coordinates)
        kind = {} if self._grid is not None else {"featureType": "timeSeries"}
        self._set_attributes({"Conventions": "CF-1.8", **attributes, **kind})
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

    def write(
        self, variable: Variable, mean: Floats, deviation: Floats, quantiles: Floats, samples: Floats | None = None
    ) -> None:
        """Write the predictions of a variable.

        Args:
            variable: The variable.
            mean: Means `[S, T]`.
            deviation: Standard deviations `[S, T]`.
            quantiles: Quantiles `[Q, S, T]`.
            samples: Samples `[N, S, T]`, if they are wanted.
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
        if samples is not None:
            parts["_samples"] = (samples, "samples, independent from time to time", own)
        for suffix, (values, statistic, more) in parts.items():
            named = {**attributes, "long_name": f"{long_name}, predictive {statistic}", **more, **location}
            dims = *FURTHER_DIMENSION.get(suffix, ()), *self._dims
            self._add_variable(name + suffix, "f4", dims, self._arrange(values), named)

    @abstractmethod
    def _set_attributes(self, attributes: Mapping[str, str]) -> None:
        """Set the attributes of the file."""

    @abstractmethod
    def _add_variable(
        self, name: str, kind: str, dims: tuple[str, ...], values: NDArray[np.generic], attributes: Mapping[str, str]
    ) -> None:
        """Add a variable, or the coordinates along an axis, of a type such as `f4`."""

    def _arrange(self, values: Floats) -> Floats:
        """Arrange values `[..., S, T]` in the dimensions of the file."""
        if self._grid is None:
            return values
        size = len(self._grid[0]), len(self._grid[1])
        return np.moveaxis(values.reshape(*values.shape[:-2], *size, values.shape[-1]), -1, -3)[..., self._columns]

    def _add_axis(self, name: str, values: NDArray[np.generic], kind: str = "f8", **attributes: str) -> None:
        named = {"long_name": name, **attributes}
        if name == "time":
            named["standard_name"] = "time"
        self._add_variable(name, kind, (name,), values, named)


class PredictionFile(PredictionWriter):
    """Predictions as a netCDF file; close it at the end.

    Args:
        path: The file.
        coordinates: Coordinates of the locations, and the origin of time.
        options: See `PredictionWriter`.
    """

    def __init__(self, path: Path, coordinates: Coordinates, **options: Any) -> None:
        with LOCK:
            self._file = netCDF4.Dataset(str(path), "w", format="NETCDF4")
        super().__init__(coordinates, **options)

    def close(self) -> None:
        """Close the file."""
        with LOCK:
            self._file.close()

    def _set_attributes(self, attributes: Mapping[str, str]) -> None:
        with LOCK:
            self._file.setncatts(attributes)

    def _add_variable(
        self, name: str, kind: str, dims: tuple[str, ...], values: NDArray[np.generic], attributes: Mapping[str, str]
    ) -> None:
        with LOCK:
            if dims == (name,):
                self._file.createDimension(name, len(values))
            variable = self._file.createVariable(name, kind, dims, compression="zlib", complevel=4, fill_value=False)
            variable.setncatts(attributes)
            variable[:] = values


class PredictionDataset(PredictionWriter):
    """Predictions as a dataset in memory, as xarray would open a `PredictionFile` of them.

    Args:
        coordinates: Coordinates of the locations, and the origin of time.
        options: See `PredictionWriter`.
    """

    def __init__(self, coordinates: Coordinates, **options: Any) -> None:
        self._data = xr.Dataset()
        super().__init__(coordinates, **options)

    def decoded(self) -> xr.Dataset:
        """The dataset, with dates."""
        return xr.decode_cf(self._data)

    def _set_attributes(self, attributes: Mapping[str, str]) -> None:
        self._data.attrs.update(attributes)

    def _add_variable(
        self, name: str, kind: str, dims: tuple[str, ...], values: NDArray[np.generic], attributes: Mapping[str, str]
    ) -> None:
        self._data[name] = dims, np.ascontiguousarray(values, dtype=kind), dict(attributes)


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
