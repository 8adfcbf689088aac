"""Locations that a run has not learnt. A field that takes the location as an input can predict there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from datamodules.era5 import Coordinates, SeriesDescription
from datamodules.era5.scaling import expected_means
from gpvae.modules import SVGPVAE, SeriesModule
from gpvae.saved.selection import find_locations, nearest_locations, pairs_of
from gpvae.vae.locations import Locations

#: Columns of a table with the coordinates of locations.
WHERE = ["latitude", "longitude"]


@contextmanager
def with_locations(
    module: SeriesModule,
    description: SeriesDescription,
    given: Any,  # noqa: ANN401
) -> Iterator[tuple[SeriesDescription, Tensor]]:
    """A description of the data that includes the given locations, and their indices in it.

    Within the block, the module knows locations that it has not learnt.

    Args:
        module: The module.
        description: The description of the data that were learnt.
        given: See `SavedSeriesRun.predict`.

    Raises:
        ValueError: A location was not learnt, and the module predicts only at those that were; or an input of one is
            missing.
    """
    table = given[WHERE].to_numpy(np.float64) if isinstance(given, pd.DataFrame) else None
    anywhere = isinstance(module, SVGPVAE) and module.hparams["location_features"] is not None
    locations = module.vae.locations if isinstance(module, SVGPVAE) and anywhere else None
    pairs = table if table is not None else _pairs(given)
    if locations is None or pairs is None:
        yield description, find_locations(given if table is None else table, description.file_coordinates)
        return
    best, same = nearest_locations(pairs, description.file_coordinates)
    if same.all():
        yield description, torch.from_numpy(best)
        return
    number, indices = len(locations.coordinates), torch.from_numpy(best)
    new = torch.from_numpy(pairs[~same])
    try:
        indices[torch.from_numpy(~same)] = locations.add(new, _statics(given, ~same))
        yield _extended(description, locations, new), indices
    finally:
        locations.keep_first(number)


def _pairs(given: Any) -> NDArray[np.float64] | None:  # noqa: ANN401
    """Latitude and longitude of each location, `[B, 2]`; None if they are given otherwise."""
    if isinstance(given, xr.Dataset | xr.DataArray):
        return pairs_of(given)
    if given is None or isinstance(given, slice):
        return None
    values = np.asarray(given)
    are_pairs = values.shape[-1:] == (2,) and values.dtype.kind in ("f" if values.ndim == 1 else "iuf")
    return np.atleast_2d(values).astype(np.float64) if are_pairs else None


def _statics(given: Any, chosen: NDArray[np.bool_]) -> dict[str, Tensor]:  # noqa: ANN401
    """Inputs of the chosen locations, by name."""
    if isinstance(given, pd.DataFrame):
        columns = {str(name): given[name].to_numpy() for name in given.columns if name not in WHERE}
    else:
        variables = given.data_vars if isinstance(given, xr.Dataset) else {}
        columns = {str(name): np.ravel(values.values) for name, values in variables.items()}
    sized = {
        name: values for name, values in columns.items() if len(values) == len(chosen) and values.dtype.kind in "iuf"
    }
    return {name: torch.from_numpy(values[chosen].astype(np.float64)) for name, values in sized.items()}


def _extended(description: SeriesDescription, locations: Locations, new: Tensor) -> SeriesDescription:
    """The description with new locations, whose own means follow from those that were learnt."""
    scaling, learnt = description.scaling, description.num_series
    positions = locations.coordinates.cpu()
    if "height" in locations.names:
        positions = torch.cat([positions, locations.column("height").cpu()[:, None]], -1)
    known = torch.zeros(len(positions), len(scaling.variables), dtype=torch.bool)
    known[:learnt] = True
    pooled = scaling.mean.mean(0)
    means = torch.cat([scaling.mean, pooled.expand(len(new), -1)])
    per_location = torch.tensor([variable.per_location for variable in scaling.variables])
    found = torch.where(per_location, expected_means(positions, means, known, pooled)[0], pooled)
    latitude, longitude = new.numpy().T

    def longer(coordinates: Coordinates) -> Coordinates:
        north, east, origin = coordinates
        return Coordinates(np.concatenate([north, latitude]), np.concatenate([east, longitude]), origin)

    return replace(
        description,
        scaling=replace(scaling, mean=torch.cat([scaling.mean, found[learnt:]])),
        coordinates=longer(description.coordinates),
        file_coordinates=longer(description.file_coordinates),
    )
