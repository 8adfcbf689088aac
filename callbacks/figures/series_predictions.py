"""Predictions of a model for a few series over spans of tasks, beside the observations, in physical units."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.era5 import SeriesStream
from gpvae.utils.distributed import own_items
from gpvae.vae.closed_form import ClosedFormSeries
from gpvae.vae.model import GPVAE

#: Variables that behave differently from each other; the first ones are drawn if available.
PREFERRED_VARIABLES = ("t2m", "u10", "msl", "ssrd", "tp", "sp")
MAX_VARIABLES = 4
#: Quantiles at the ends of the interval.
LOWER, UPPER = 0.05, 0.95
NUM_SAMPLES = 200

Floats = NDArray[np.float64]
SeriesModel = GPVAE | ClosedFormSeries


@dataclass(frozen=True)
class Span:
    """Predictions and observations of a few series over consecutive tasks.

    Args:
        edges: Hours at which the tasks begin, and the hour at which the last one ends.
        train: Training hours `[T]` and values in physical units `[B, T, V]`.
        test: Held-out hours and values, in the same shapes.
        times: Hours of the prediction `[G]`.
        mean: Predictive mean `[B, G, V]`.
        lower: Lower end of the predictive interval `[B, G, V]`.
        upper: Upper end of the predictive interval `[B, G, V]`.
    """

    edges: list[float]
    train: tuple[Floats, Floats]
    test: tuple[Floats, Floats]
    times: Floats
    mean: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def predict(cls, model: SeriesModel, stream: SeriesStream, tasks: range, series: Tensor, num_points: int) -> "Span":
        """Predict a span of tasks and collect its observations.

        Args:
            model: A trained model.
            stream: The stream that it has learnt from.
            tasks: The tasks, from 0.
            series: Indices of the series `[B]`.
            num_points: Number of times of the prediction.
        """
        edges = [stream.begin_of(task) for task in (*tasks, tasks.stop)]
        last = edges[-1] - min(1.0, stream.fields.step)
        times = torch.linspace(edges[0], last, num_points, dtype=torch.float64)
        mean, lower, upper = predict_interval(model, stream, times, series)
        train = [stream.task_data(task) for task in tasks]
        loaders = [stream.test_loader(task, 0, 1) for task in tasks]
        test = [(loader.times, loader.y, loader.mask) for loader in loaders]
        seen = observations(stream, train, series), observations(stream, test, series)
        return cls(edges, *seen, times.numpy(), mean, lower, upper)


def task_spans(num_learnt: int) -> list[range]:
    """The tasks to draw: all if there are at most three, else the first, which shows forgetting, and the last two.

    Args:
        num_learnt: How many tasks have been learnt.
    """
    return [range(num_learnt)] if num_learnt <= 3 else [range(1), range(num_learnt - 2, num_learnt)]


def distant_series(stream: SeriesStream) -> Tensor:
    """Indices of the first series of this process and of its series farthest from that one.

    Args:
        stream: The stream.
    """
    series = own_items(stream.num_series).numpy()
    latitude, longitude = (degrees[series] for degrees in stream.coordinates[:2])
    east = (longitude - longitude[0] + 180) % 360 - 180
    distance = np.hypot(latitude - latitude[0], east * np.cos(np.radians(latitude[0])))
    return torch.from_numpy(series[sorted({0, int(distance.argmax())})])


def representative_variables(stream: SeriesStream) -> list[int]:
    """Indices of a few variables that differ from each other, in the order of the stream.

    Args:
        stream: The stream.
    """
    names = [variable.short_name for variable in stream.variables]
    preferred = [names.index(name) for name in PREFERRED_VARIABLES if name in names]
    others = [index for index in range(len(names)) if index not in preferred]
    return sorted([*preferred, *others][:MAX_VARIABLES])


def predict_interval(
    model: SeriesModel, stream: SeriesStream, times: Tensor, series: Tensor
) -> tuple[Floats, Floats, Floats]:
    """Predictive mean, and lower and upper end of the interval, each `[B, G, V]`, in physical units.

    Args:
        model: A trained model.
        stream: The stream that it has learnt from.
        times: Times of the prediction `[G]`.
        series: Indices of the series `[B]`.
    """
    device = model.posterior.L.device
    y = stream.to_physical(smooth_samples(model, times.to(device), series.to(device)).cpu(), series)
    lower, upper = (y.kthvalue(round(level * (NUM_SAMPLES + 1)), 0).values.numpy() for level in (LOWER, UPPER))
    return y.mean(0).numpy(), lower, upper


def smooth_samples(model: SeriesModel, times: Tensor, series: Tensor) -> Tensor:
    """Samples of y `[S, B, T, V]` that use the same random numbers at all times, so that curves are smooth.

    A model in closed form has quantiles, which take their place.

    Args:
        model: A trained model.
        times: Times `[T]`.
        series: Indices of the series `[B]`.
    """
    if isinstance(model, ClosedFormSeries):
        return model.quantiles(times, series, NUM_SAMPLES)
    f = model.latent(times, series)
    rng = torch.Generator().manual_seed(0)
    noise = torch.randn(NUM_SAMPLES, 1, f.mean.shape[-2], 1, generator=rng, dtype=f.mean.dtype)
    mean, scale = model.decode(times, f.mean + f.stddev * noise.to(f.mean), series)
    order = torch.rand(NUM_SAMPLES, mean.shape[-1], generator=rng).argsort(0)
    evenly_spread = torch.special.ndtri((order + 0.5) / NUM_SAMPLES)
    return mean + scale * evenly_spread.to(mean)[:, None, None, :]


def observations(
    stream: SeriesStream, parts: Sequence[tuple[Tensor, Tensor, Tensor]], series: Tensor
) -> tuple[Floats, Floats]:
    """Hours `[T]` and values `[B, T, V]` in physical units, NaN where not observed.

    Args:
        stream: The stream.
        parts: Hours, values and what is observed of each part.
        series: Indices of the series `[B]`.
    """
    values = [
        stream.to_physical(y[series], series).double().masked_fill(~mask[series], torch.nan) for _, y, mask in parts
    ]
    return torch.cat([times for times, _, _ in parts]).numpy(), torch.cat(values, 1).numpy()
