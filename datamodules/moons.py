"""Two moons: points of two classes in the plane."""

import math
from typing import Any

import torch
from torch import Tensor

from datamodules.point_stream import PointStream

DATA_SEED = 0


class TwoMoons(PointStream):
    """Two interleaved half circles, one for each label, in tasks from left to right (paper, appendix F.3).

    The points are the same for every seed, which only selects the test points.

    Args:
        num_tasks: The number of tasks of equal size that the training points are divided into.
        num_test: The number of test points (int), or their fraction of all points (float below 1).
            75 of 375 leave 100 training points for each of three tasks.
        num_points: The total number of points.
        noise: Standard deviation of the points about the half circles, whose radius is 1.
        options: See `PointStream`.
    """

    input_dim = 2
    likelihood = "bernoulli"

    def __init__(
        self, num_tasks: int = 3, num_test: int | float = 75, num_points: int = 375, noise: float = 0.05, **options: Any
    ) -> None:
        if num_points < 2:
            raise ValueError(f"num_points is {num_points}: two moons need at least two points.")
        if not 0 <= noise < math.inf:
            raise ValueError(f"noise is {noise}: a standard deviation must be a number of 0 or more.")
        super().__init__(num_tasks=num_tasks, num_test=num_test, **options)
        self.num_points, self.noise = num_points, noise

    def read(self) -> tuple[Tensor, Tensor]:
        """Points of the plane `[num_points, 2]` and labels 0 and 1 `[num_points]`."""
        rng = torch.Generator().manual_seed(DATA_SEED)
        angle = math.pi * torch.rand(self.num_points, generator=rng, dtype=torch.float64)
        y = (torch.arange(self.num_points) % 2).double()
        upper = torch.stack([angle.cos(), angle.sin()], -1)
        lower = torch.stack([1 - angle.cos(), 0.5 - angle.sin()], -1)
        x = torch.where(y[:, None] == 1, upper, lower)
        return x + self.noise * torch.randn(x.shape, generator=rng, dtype=torch.float64), y
