"""What a GP-VAE remembers of a few series: predictions beside observations, in the units of the data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.era5 import SeriesStream
from gpvae.utils.distributed import own
from gpvae.vae.model import GPVAE

#: Variables that show different sides of the weather, those to draw first in front.
TELLING = ("t2m", "u10", "msl", "ssrd", "tp", "sp")
MOST_VARIABLES = 4
#: The band lies between these quantiles.
LOWER, UPPER = 0.05, 0.95
NUM_SAMPLES = 200

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Span:
    """Consecutive tasks, and what is to be drawn of them.

    Args:
        edges: Hours at which tasks begin, and the last one ends.
        train: Training hours `[T]` and values of the chosen series in physical units `[B, T, V]`.
        test: The same of the held-out hours.
        times: Hours of the prediction `[G]`.
        mean: Mean of the prediction `[B, G, V]`.
        lower: Lower end of its interval `[B, G, V]`.
        upper: Upper end `[B, G, V]`.
    """

    edges: list[float]
    train: tuple[Floats, Floats]
    test: tuple[Floats, Floats]
    times: Floats
    mean: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, vae: GPVAE, stream: SeriesStream, tasks: range, chosen: Tensor, num_points: int) -> "Span":
        """Ask model and data.

        Args:
            vae: A trained model.
            stream: What it has learnt from.
            tasks: Which tasks, from 0.
            chosen: Which series `[B]`.
            num_points: Number of times of the prediction.
        """
        edges = [float(stream.hours_per_task * task) for task in (*tasks, tasks.stop)]
        times = torch.linspace(edges[0], edges[-1] - 1, num_points, dtype=torch.float64)
        device = vae.decoder.log_scale.device
        drawn = stream.to_physical(samples(vae, times.to(device), chosen.to(device)).cpu(), chosen)
        lower, upper = (drawn.kthvalue(round(level * (NUM_SAMPLES + 1)), 0).values.numpy() for level in (LOWER, UPPER))
        train = [stream.task_data(task) for task in tasks]
        loaders = [stream.test_loader(task, 0, 1) for task in tasks]
        test = [(loader.times, loader.y, loader.mask) for loader in loaders]
        observed = _physical(stream, train, chosen), _physical(stream, test, chosen)
        return cls(edges, *observed, times.numpy(), drawn.mean(0).numpy(), lower, upper)


def shown_tasks(num_seen: int) -> list[range]:
    """All tasks while they are few; then the first, to see what is forgotten, and the last two.

    Args:
        num_seen: How many tasks have been learnt.
    """
    return [range(num_seen)] if num_seen <= 3 else [range(1), range(num_seen - 2, num_seen)]


def distant_series(stream: SeriesStream) -> Tensor:
    """The first series of this process, and the one of its own that is farthest from it.

    Args:
        stream: The stream.
    """
    series = own(stream.num_series).numpy()
    latitude, longitude = (degrees[series] for degrees in stream.coordinates[:2])
    east = (longitude - longitude[0] + 180) % 360 - 180
    distance = np.hypot(latitude - latitude[0], east * np.cos(np.radians(latitude[0])))
    return torch.from_numpy(series[sorted({0, int(distance.argmax())})])


def telling_variables(stream: SeriesStream) -> list[int]:
    """The places of a few variables that differ from each other, in the order of the stream.

    Args:
        stream: The stream.
    """
    names = [variable.short_name for variable in stream.variables]
    preferred = [names.index(name) for name in TELLING if name in names]
    others = [place for place in range(len(names)) if place not in preferred]
    return sorted([*preferred, *others][:MOST_VARIABLES])


def samples(vae: GPVAE, times: Tensor, chosen: Tensor) -> Tensor:
    """Samples of y `[S, B, T, V]` that use the same random numbers at all times, so that curves come out smooth.

    Args:
        vae: A trained model.
        times: `[T]`.
        chosen: Which series `[B]`.
    """
    f = vae.latent(times, chosen)
    rng = torch.Generator().manual_seed(0)
    noise = torch.randn(NUM_SAMPLES, 1, f.mean.shape[-2], 1, generator=rng, dtype=f.mean.dtype)
    mean, scale = vae.decode(times, f.mean + f.stddev * noise.to(f.mean))
    order = torch.rand(NUM_SAMPLES, mean.shape[-1], generator=rng).argsort(0)
    evenly_spread = torch.special.ndtri((order + 0.5) / NUM_SAMPLES)
    return mean + scale * evenly_spread.to(mean)[:, None, None, :]


def _physical(
    stream: SeriesStream, parts: Sequence[tuple[Tensor, Tensor, Tensor]], chosen: Tensor
) -> tuple[Floats, Floats]:
    """Hours `[T]` and values `[B, T, V]`, NaN where not observed."""
    values = [
        stream.to_physical(y[chosen], chosen).double().masked_fill(~mask[chosen], torch.nan) for _, y, mask in parts
    ]
    return torch.cat([times for times, _, _ in parts]).numpy(), torch.cat(values, 1).numpy()
