"""Squared errors of a model and of climatology at every location."""

import torch
from torch import Tensor

from datamodules.era5 import SeriesStream
from gpvae.results.location_table import LocationScore
from gpvae.utils.distributed import sum_over_processes


class LocationErrors:
    """Sums of squared errors for each location, over tasks and variables.

    Args:
        num_locations: Number of locations.
    """

    def __init__(self, num_locations: int) -> None:
        self._sums = torch.zeros(3, num_locations, dtype=torch.float64)

    def add(self, location: Tensor, model: Tensor, climatology: Tensor) -> None:
        """Add errors.

        Args:
            location: The location of each value, `[N]`.
            model: Errors of the model, `[N]`.
            climatology: Errors of climatology, `[N]`.
        """
        ones = torch.ones(len(location), dtype=torch.float64)
        for row, values in zip(self._sums, (ones, model.double() ** 2, climatology.double() ** 2), strict=True):
            row.index_add_(0, location, values)

    def scores(self, stream: SeriesStream, device: torch.device) -> list[LocationScore]:
        """Scores over the values of all processes, of locations that have any; every process must call this.

        Args:
            stream: The stream, for the coordinates of its locations.
            device: The device by which processes communicate.
        """
        count, model, climatology = sum_over_processes(self._sums.to(device)).cpu()
        where = stream.description.coordinates
        return [
            LocationScore(
                i,
                float(where.latitude[i]),
                float(where.longitude[i]),
                int(count[i]),
                float((model[i] / count[i]).sqrt()),
                float(1 - model[i] / climatology[i]),
            )
            for i in count.nonzero()[:, 0].tolist()
        ]
