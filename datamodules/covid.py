"""A time series of counts: daily deaths in an epidemic."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from datamodules.public_files import fetch
from datamodules.scaled_stream import MeasuredStream


class Covid(MeasuredStream):
    """Daily deaths in Santa Catarina, Brazil, from March 2020 to February 2021, with time scaled to [0, 10].

    The targets are counts, so they are not standardised. About the last ten days are under-reported.

    Args:
        num_tasks: The number of tasks of equal size that the training points are divided into.
        num_test: The number of test points (int), or their fraction of all points (float below 1).
            0.2 leaves 275 of the 344 days for training, 55 for each of five tasks.
        options: See `MeasuredStream`.
    """

    input_dim = 1
    likelihood = "negative_binomial"
    files = ("covid_santa_catarina.csv",)
    interval = (0.0, 10.0)
    standardises = False

    def __init__(self, num_tasks: int = 5, num_test: int | float = 0.2, **options: Any) -> None:
        super().__init__(num_tasks=num_tasks, num_test=num_test, **options)

    def read(self) -> tuple[Tensor, Tensor]:
        """Days since the first `[344, 1]` and deaths on each `[344]`."""
        deaths = np.loadtxt(fetch("covid_santa_catarina.csv"), delimiter=",", skiprows=1, usecols=1)
        return torch.arange(len(deaths), dtype=torch.float64)[:, None], torch.from_numpy(deaths)
