"""Small synthetic time series, to watch a model learn and forget."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from datamodules.point_stream import PointStream
from gpvae.utils.checks import choice

DATA_SEED = 0
END = 3.0  # of the time interval, which begins at 0
Kind = Literal["figure_1", "figure_f4"]


@dataclass(frozen=True)
class Series:
    """A function of time on [0, 3], observed at evenly spaced times.

    Args:
        function: The function.
        num_points: The number of observations.
        noise: Standard deviation of their noise.
    """

    function: Callable[[Tensor], Tensor]
    num_points: int
    noise: float


def slow_wave(x: Tensor) -> Tensor:
    """One and a half periods of a growing wave, on a slope."""
    return (0.5 + 0.2 * x) * torch.sin(3.2 * x) + 0.3 * x - 0.5


def mixed_waves(x: Tensor) -> Tensor:
    """Two waves without a common period, one of them modulated in amplitude."""
    return torch.sin(8.3 * x) * torch.cos(0.9 * x) + 0.6 * torch.sin(4.7 * x + 1)


SERIES = {
    "figure_1": Series(slow_wave, num_points=60, noise=0.05),
    "figure_f4": Series(mixed_waves, num_points=240, noise=0.1),
}


class Toy(PointStream):
    """A synthetic time series on [0, 3]: smooth, not periodic, with a little noise.

    The observations are the same for every seed, which only selects the test points.

    Args:
        kind: The series. "figure_1": few points of a slow wave, in the style of the paper's first figure (which has
            two tasks). "figure_f4": many points of a faster one, in the style of its appendix F.4 (three tasks): 25
            inducing variables over the whole past remember its first task, a window of one task does not.
        num_tasks: The number of tasks of equal size that the training points are divided into.
        num_test: The number of test points (int), or their fraction of all points (float below 1).
        options: See `PointStream`.
    """

    input_dim = 1
    likelihood = "gaussian"

    def __init__(
        self, kind: Kind = "figure_f4", num_tasks: int = 3, num_test: int | float = 0.25, **options: Any
    ) -> None:
        choice("kind", kind, get_args(Kind))
        super().__init__(num_tasks=num_tasks, num_test=num_test, **options)
        self.kind = kind

    def read(self) -> tuple[Tensor, Tensor]:
        """Times `[N, 1]` and values `[N]`."""
        series = SERIES[self.kind]
        x = torch.linspace(0.0, END, series.num_points, dtype=torch.float64)
        rng = torch.Generator().manual_seed(DATA_SEED)
        noise = torch.randn(series.num_points, generator=rng, dtype=torch.float64)
        return x[:, None], series.function(x) + series.noise * noise
