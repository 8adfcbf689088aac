"""Where the values of a file are: a grid of latitudes and longitudes, or scattered locations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.files.coordinates import dataset_of, renamed
from datamodules.era5.files.sizes import check_cells

MAX_LONGITUDE = 540.0  # degrees: some grids go once around from wherever they begin


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of a file, numbered row by row from the north-west; scattered locations in the order of the file.

    Args:
        dims: `("latitude", "longitude")`, `("y", "x")` for curvilinear grids, or `("location",)` for scattered
            locations.
        latitude: Degrees north, along its dimension; along both in a curvilinear grid.
        longitude: Degrees east from -180 to 180, likewise.
        order: For each dimension, the indices of its entries in the file, which may go from south to north, or from 0
            to 360 degrees; -1 for locations that only other files have.
        file_axes: Latitude and longitude as they are in the file, with its precision and range of longitudes, along
            their dimensions; those above if not given.
    """

    dims: tuple[str, ...]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    order: tuple[NDArray[np.int64], ...]
    file_axes: tuple[NDArray[np.generic], NDArray[np.generic]] | None = None

    @classmethod
    def of(cls, data: xr.Dataset, name: str) -> "tuple[Grid, xr.Dataset]":
        """The grid of a file, and the file with the dimensions of the grid.

        Args:
            data: The file, with `latitude` and `longitude`.
            name: Its name in messages.

        Raises:
            ValueError: It lacks these coordinates, or they are not those of a grid or a list of locations.
        """
        missing = [key for key in ("latitude", "longitude") if key not in data.variables]
        if missing:
            found = ", ".join(map(str, data.variables))
            raise ValueError(
                f"{name} has no {' and no '.join(missing)} among its variables ({found}). Add them as coordinates: of "
                "one location, of a list, or of a grid, with two dimensions if it is projected. For the file of one "
                "location you can instead give `locations`, with its latitude and longitude."
            )
        north, east = data["latitude"].reset_coords(drop=True), data["longitude"].reset_coords(drop=True)
        data = data.drop_vars(["latitude", "longitude"])
        check_cells(north.size if set(north.dims) == set(east.dims) else north.size * east.size, name)
        if (north.ndim, east.ndim) in ((0, 1), (1, 0)):  # a row or a column of a grid
            north, east = xr.broadcast(north, east)
        if set(north.dims) == set(east.dims):
            east = east.transpose(*north.dims)
        dims = tuple(map(str, north.dims)), tuple(map(str, east.dims))
        # Single precision in some files: 59.9 is then 59.90000153, which does not equal 59.9 in other files.
        own = np.atleast_1d(north.values), np.atleast_1d(east.values)
        latitude, longitude = map(_rounded, own)
        degrees = ((latitude, 90.0), (longitude, MAX_LONGITUDE))
        if not all(axis.size and (np.abs(axis) <= limit).all() for axis, limit in degrees):
            raise ValueError(f"Latitudes and longitudes of {name} are missing or invalid. Download it again.")
        longitude = _rounded((longitude + 180.0) % 360.0 - 180.0)
        order = tuple(np.arange(size) for size in latitude.shape)
        if dims == ((), ()):  # one location
            expanded = {key: field.expand_dims("location") for key, field in data.data_vars.items()}
            return cls(("location",), latitude, longitude, order, own), data.assign(expanded)
        if dims[0] == dims[1] and len(dims[0]) <= 2:
            names = ("location",) if len(dims[0]) == 1 else ("y", "x")
            if names == ("location",):
                _check_unique(np.stack([latitude, longitude], axis=-1), "location", name)
            return cls(names, latitude, longitude, order, own), _rename_dims(data, dims[0], names)
        if (len(dims[0]), len(dims[1])) != (1, 1):
            raise ValueError(
                f"Latitude and longitude of {name} have dimensions {dims[0]} and {dims[1]}: expected a grid, with one "
                "dimension for each or two for both, or a list of locations with one dimension for both."
            )
        rows, columns = np.argsort(-latitude, kind="stable"), np.argsort(longitude, kind="stable")
        around = np.append(True, np.diff(longitude[columns]) > 0) | (np.abs(np.diff(own[1][columns], prepend=0)) < 180)
        columns = columns[around]  # without the first meridian again, once around the globe
        for role, axis in (("latitude", latitude[rows]), ("longitude", longitude[columns])):
            _check_unique(axis[:, None], role, name)
        own = own[0][rows], own[1][columns]
        names = ("latitude", "longitude")
        grid = cls(names, latitude[rows], longitude[columns], (rows, columns), own)
        return grid, _rename_dims(data, (*dims[0], *dims[1]), names)

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return tuple(len(order) for order in self.order)

    @property
    def is_curvilinear(self) -> bool:
        """Whether every cell has a latitude and a longitude of its own, as on a projected or rotated grid."""
        return self.latitude.ndim == 2

    @property
    def cells(self) -> NDArray[np.float64]:
        """Latitude and longitude of every cell `[C, 2]`."""
        if len(self.dims) == 1 or self.is_curvilinear:
            return np.stack([self.latitude.reshape(-1), self.longitude.reshape(-1)], axis=-1)
        return np.stack(np.meshgrid(self.latitude, self.longitude, indexing="ij"), axis=-1).reshape(-1, 2)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which cells the file has `[C]`: all of a grid."""
        return self.order[0] >= 0 if len(self.dims) == 1 else np.ones(np.prod(self.shape), bool)

    def file_coordinates(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
        """Latitudes and longitudes of some cells, exactly as they are in the file `[S]`.

        Args:
            cells: Indices of cells `[S]`.
        """
        latitude, longitude = self.file_axes or (self.latitude, self.longitude)
        numbers = np.unravel_index(cells, self.shape)
        if self.is_curvilinear:
            return latitude[numbers], longitude[numbers]
        return latitude[numbers[0]], longitude[numbers[-1]]

    def coordinates(self, cells: NDArray[np.int64] | None) -> dict[str, tuple[tuple[str, ...], NDArray[np.float64]]]:
        """Latitude and longitude of some cells along `series`, or of the whole grid along its dimensions.

        Args:
            cells: Indices of cells `[S]`; the whole grid if None.
        """
        if cells is not None:
            latitude, longitude = self.cells[cells].T
            return {"latitude": (("series",), latitude), "longitude": (("series",), longitude)}
        dims = (self.dims, self.dims) if self.is_curvilinear else ((self.dims[0],), (self.dims[-1],))
        return {"latitude": (dims[0], self.latitude), "longitude": (dims[1], self.longitude)}

    def window(self, cells: NDArray[np.int64] | None) -> tuple[dict[str, slice], tuple[NDArray[np.int64], ...]]:
        """The smallest window of the file that contains some cells, by dimension, and the positions of the cells in it.

        One window is read much faster than many single cells.

        Args:
            cells: Indices of cells `[S]`; the whole grid if None.
        """
        if cells is None:
            return {}, np.ix_(*self.order)
        numbers = np.unravel_index(cells, self.shape)
        positions = [order[number] for order, number in zip(self.order, numbers, strict=True)]
        window = {dim: slice(p.min(), p.max() + 1) for dim, p in zip(self.dims, positions, strict=True)}
        return window, tuple(position - position.min() for position in positions)

    def same_as(self, other: "Grid") -> bool:
        """Whether two grids have the same cells in the same order.

        Args:
            other: The other one.
        """
        return self.dims == other.dims and np.array_equal(self.cells, other.cells)

    def __str__(self) -> str:
        size = " × ".join(map(str, self.shape))
        return (
            f"{size} cells, {self.latitude.min():g} to {self.latitude.max():g} °N, "
            f"{self.longitude.min():g} to {self.longitude.max():g} °E"
        )


def join_locations(grids: Sequence[Grid]) -> list[Grid]:
    """Lists of locations, each extended by those that only others have, in the order in which they first appear.

    Args:
        grids: At least one; all have the dimension `location`.
    """
    everywhere = np.concatenate([grid.cells for grid in grids])
    first = np.sort(np.unique(everywhere, axis=0, return_index=True)[1])
    cells = everywhere[first]
    own = [grid.file_coordinates(np.arange(len(grid.cells))) for grid in grids]
    latitude, longitude = (np.concatenate(axes)[first] for axes in zip(*own, strict=True))

    def extended(grid: Grid) -> Grid:
        index = {tuple(cell): number for number, cell in enumerate(grid.cells)}
        order = np.array([index.get(tuple(cell), -1) for cell in cells])
        return Grid(("location",), cells[:, 0], cells[:, 1], (order,), (latitude, longitude))

    return [extended(grid) for grid in grids]


def _rename_dims(data: xr.Dataset, dims: tuple[str, ...], names: tuple[str, ...]) -> xr.Dataset:
    """The file with the dimensions of the grid renamed; others that have these names make way."""
    new = dict(zip(dims, names, strict=True))
    new = {**{str(dim): f"other_{dim}" for dim in data.dims if dim in names and dim not in dims}, **new}
    variables = {
        str(key): renamed(field.to_base_variable(), new)
        for key, field in data.variables.items()
        if key not in names or key in data.data_vars
    }
    return dataset_of(variables, list(map(str, data.data_vars)), data.attrs)


def _check_unique(cells: NDArray[np.float64], role: str, name: str) -> None:
    found, counts = np.unique(cells, axis=0, return_counts=True)
    if (counts > 1).any():
        twice = ", ".join(f"{degrees:g}" for degrees in found[counts.argmax()])
        raise ValueError(
            f"{name} has the {role} {twice} {counts.max()} times, so its values are ambiguous: keep one of them."
        )


def _rounded(degrees: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(degrees, dtype=np.float64).round(5)
