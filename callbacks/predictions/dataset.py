"""Predictions of series as a dataset of xarray, by the code that writes them to a file."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from callbacks.predictions.cf_file import Floats, PredictionDataset
from callbacks.predictions.summary import QUANTILES, check_finite, file_attributes, summarise_samples
from datamodules.era5 import Coordinates, SeriesDescription
from datamodules.era5.times_to_predict import group_times, prediction_loader, unobserved
from gpvae.modules import SeriesModule


class PredictionRequest(NamedTuple):
    """What to predict.

    Args:
        times: Times, in order, each once `[T]`.
        series: Indices of the series `[B]`.
        variables: Indices of the variables.
        quantiles: Probabilities of the quantiles `[Q]`.
        samples: Whether to return the samples too.
    """

    times: NDArray[np.datetime64]
    series: Tensor
    variables: Sequence[int]
    quantiles: Sequence[float] = QUANTILES
    samples: bool = False


def predict_dataset(module: SeriesModule, stream: SeriesDescription, request: PredictionRequest) -> xr.Dataset:
    """Predict series in physical units.

    Args:
        module: The module, in evaluation mode.
        stream: The stream that it has learnt from.
        request: What to predict.

    Returns:
        Mean, standard deviation and quantiles of every variable, as in `predictions.nc`.

    Raises:
        FloatingPointError: A prediction is not a number.
    """
    hours = torch.from_numpy((request.times - stream.coordinates.origin) / np.timedelta64(1, "h"))
    values, samples = _predict(module, stream, hours, request)
    latitude, longitude, origin = stream.file_coordinates
    chosen = request.series.numpy()
    output = PredictionDataset(
        Coordinates(latitude[chosen], longitude[chosen], origin),
        seconds=3600 * hours.numpy(),
        quantiles=request.quantiles,
        attributes=file_attributes(module, stream, sizes=(len(request.variables), len(chosen))),
    )
    for number, index in enumerate(request.variables):
        variable, own = stream.variables[index], values[number]
        check_finite(variable, own)
        output.write(variable, own[0], own[1], own[2:], None if samples is None else samples[number])
    result = output.decoded()
    return result.assign_coords(time=result["time"].copy(data=request.times))


def _predict(
    module: SeriesModule, stream: SeriesDescription, hours: Tensor, request: PredictionRequest
) -> tuple[Floats, Floats | None]:
    """Summaries `[V, 2 + Q, B, T]` and, if asked for, samples `[V, N, B, T]`."""
    size, variables = (len(request.series), len(hours)), list(request.variables)
    values = np.empty((len(variables), 2 + len(request.quantiles), *size), np.float32)
    samples = np.empty((len(variables), module.hparams["num_samples"], *size), np.float32) if request.samples else None
    begin = 0
    for times in group_times(hours, stream.task_begins):
        columns = slice(begin, begin + len(times))
        begin += len(times)
        for batch in prediction_loader(unobserved(times, len(request.series), stream.num_variables)):
            rows = batch.series.numpy()
            series = request.series[batch.series]
            predicted = module.predict_step(
                (series.to(module.device), times.to(module.device), batch.y, batch.mask), batch_idx=0
            )
            physical = stream.to_physical(predicted["samples"], series)[..., variables].cpu().numpy()
            values[:, :, rows, columns] = summarise_samples(physical, request.quantiles)
            if samples is not None:
                samples[:, :, rows, columns] = np.moveaxis(physical, -1, 0)
    return values, samples
