"""Predictions of a few series over the whole stream, beside the observations, for the report."""

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch.distributions import Bernoulli

from callbacks.continual import module_and_stream
from callbacks.evaluating import evaluating
from callbacks.figures.series_predictions import (
    LOWER,
    UPPER,
    SeriesModel,
    distant_series,
    observations,
    predict_interval,
    representative_variables,
)
from callbacks.results_folder import ResultsWriter
from datamodules import PointStream
from datamodules.era5 import SeriesStream
from gpvae.modules import SeriesModule, StreamingGP
from gpvae.results.predicted_series import FILE_NAME, PredictedSeries, write_series
from gpvae.utils.quantiles import quantile

#: Rows of a series; longer ones are thinned.
MAX_ROWS = 10_000
#: Times that are predicted together, since every one of them has many samples.
CHUNK = 2000


class SeriesPredictions(ResultsWriter, Callback):
    """Writes `predicted_series.csv.gz` to the run folder when a fit ends.

    It has the prediction, by the final model, for every observation of the tasks that were learnt, as far as their data
    are at hand: the target of a stream of points with one input, and a few variables at two distant locations of a
    stream of series.
    """

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Predict and write, unless the fit ended within a task."""
        module, stream = module_and_stream(trainer, "SeriesPredictions")
        folder = self.results_folder(trainer)  # every process must ask
        if folder is None or not trainer.is_global_zero or not 0 < module.learned == module.begun:
            return
        series: list[PredictedSeries] = []
        with evaluating(module):
            if isinstance(module, SeriesModule) and isinstance(stream, SeriesStream):
                series = predict_variables(module.series_model, stream, module.learned)
            elif isinstance(module, StreamingGP) and isinstance(stream, PointStream) and stream.input_dim == 1:
                series = predict_target(module, stream, module.learned)
        if series:
            write_series(series, folder / FILE_NAME)


def predict_variables(model: SeriesModel, stream: SeriesStream, num_learnt: int) -> list[PredictedSeries]:
    """A few variables at two distant locations, location by location.

    Args:
        model: A trained model.
        stream: The stream that it has learnt from.
        num_learnt: How many tasks have been learnt.
    """
    series, variables = distant_series(stream), representative_variables(stream)
    parts = []
    for task in range(num_learnt):
        held_out = stream.test_loader(task, 0, 1)
        for is_test, part in enumerate((stream.task_data(task), (held_out.times, held_out.y, held_out.mask))):
            if part[1].numel() == 0:
                continue  # learnt earlier, from data that are not given now
            hours, values = observations(stream, [part], series)
            parts.append((hours, values, np.full(len(hours), task + 1), np.full(len(hours), bool(is_test))))
    if not parts:
        return []
    hours, values, tasks, test = (
        np.concatenate(some, axis=1 if some[0].ndim == 3 else 0) for some in zip(*parts, strict=True)
    )
    rows = _thinned(np.argsort(hours, kind="stable"))
    hours, values, tasks, test = hours[rows], values[:, rows], tasks[rows], test[rows]
    chunks = [predict_interval(model, stream, times, series) for times in torch.from_numpy(hours).split(CHUNK)]
    mean, lower, upper = (np.concatenate(some, axis=1) for some in zip(*chunks, strict=True))
    dates = stream.coordinates.origin + (3600 * hours).round().astype("timedelta64[s]")
    latitude, longitude = (degrees[series.numpy()] for degrees in stream.coordinates[:2])
    return [
        PredictedSeries(
            stream.variables[v].short_name,
            stream.units[v],
            (float(latitude[b]), float(longitude[b])),
            tasks,
            dates,
            values[b, :, v],
            test,
            *(some[b, :, v] for some in (mean, lower, upper)),
        )
        for b in range(len(series))
        for v in variables
    ]


def predict_target(module: StreamingGP, stream: PointStream, num_learnt: int) -> list[PredictedSeries]:
    """The target of a stream with one input, in the units of the data; none if it is a label.

    Args:
        module: A trained module.
        stream: The stream that it has learnt from.
        num_learnt: How many tasks have been learnt.
    """
    tasks = stream.tasks[:num_learnt]
    x = torch.cat([part for task in tasks for part in (task.x_train, task.x_test)])
    y = torch.cat([part for task in tasks for part in (task.y_train, task.y_test)])
    sizes = [(len(task.x_train), len(task.x_test)) for task in tasks]
    numbers = np.concatenate([np.full(sum(pair), task) for task, pair in enumerate(sizes, start=1)])
    test = np.concatenate([np.repeat([False, True], pair) for pair in sizes])
    rows = _thinned(x[:, 0].argsort(stable=True).numpy())
    x, y = x[rows], y[rows]
    predicted = module.predict(x.to(module.device))
    if isinstance(predicted, Bernoulli):
        return []
    ends = [quantile(predicted, level).cpu() for level in (LOWER, UPPER)]
    values = [y, predicted.mean.cpu(), *ends]
    if stream.scale is not None:
        x, values = stream.scale.measured_inputs(x), [stream.scale.measured(some) for some in values]
    inputs = np.array([row[0] for row in stream.input_values(x)])
    if inputs.dtype.kind == "U":  # times, as text
        inputs = inputs.astype("datetime64[s]")
    observed, mean, lower, upper = (some.double().numpy() for some in values)
    name = stream.target_name
    return [PredictedSeries(name, "", None, numbers[rows], inputs, observed, test[rows], mean, lower, upper)]


def _thinned(rows: np.ndarray) -> np.ndarray:
    """Some of the rows, evenly spaced, if there are too many."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_ROWS)).round().astype(int)]
