"""The renewal equation of an epidemic: new infections day by day, with its gradient.

    m_d = R_d (1 - C_d / N) Σ_{i<d} m_i SI(d - i),    C_d = Σ_{i<d} m_i

(paper, appendix D.1, where the sum of C reads C_i in place of m_i). Every day needs all days before it, and autograd
would spend most of its time on hundreds of tiny steps, so both directions are written out in NumPy.
"""

from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor

#: Initial days with a given number of infections each.
SEEDED = 6


def gamma_by_day(mean: float, variation: float, num_days: int) -> np.ndarray:
    """Probabilities of a gamma distribution on days 1, 2, ..., each from half a day before to half a day after.

    Args:
        mean: Its mean, in days.
        variation: Its coefficient of variation.
        num_days: Number of days; later days are left out.
    """
    gamma = stats.gamma(1 / variation**2, scale=mean * variation**2)
    edges = np.concatenate([[0.0], np.arange(1, num_days + 1) + 0.5])
    return np.diff(gamma.cdf(edges))


class Infections(torch.autograd.Function):
    """New infections on each day `[D]` from reproduction numbers `[D]` and those of each of the first days."""

    @staticmethod
    def forward(ctx: Any, reproduction: Tensor, seed: Tensor, serial: Tensor, population: float) -> Tensor:  # noqa: ANN401
        """Compute the infections day by day."""
        r, backwards = reproduction.detach().numpy(), serial.numpy()[::-1].copy()
        days, reach = len(r), len(serial)
        padded, pressure, left = np.zeros(reach + days), np.zeros(days), np.zeros(days)
        padded[reach : reach + SEEDED] = seed.item()
        total = SEEDED * seed.item()
        for day in range(SEEDED, days):
            pressure[day] = felt = padded[day : day + reach].dot(backwards)
            left[day] = free = 1.0 - total / population if total < population else 0.0
            padded[reach + day] = new = r[day] * free * felt
            total += new
        ctx.known = r, serial.numpy(), pressure, left, population
        return torch.from_numpy(padded[reach:].copy())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:  # noqa: ANN401
        """Compute the adjoint from the last day to the first."""
        r, s, pressure, left, population = ctx.known
        days, reach = len(r), len(s)
        adjoint, growth = gradient.numpy().copy(), r * left
        crowded = r * pressure / population * (left > 0)
        weighted, crowding = np.zeros(days + reach), 0.0
        for day in range(days - 1, -1, -1):
            adjoint[day] = felt = adjoint[day] + weighted[day + 1 : day + 1 + reach].dot(s) - crowding
            if day >= SEEDED:
                weighted[day] = felt * growth[day]
                crowding += felt * crowded[day]
        slope = adjoint * left * pressure
        return torch.from_numpy(slope), torch.tensor(adjoint[:SEEDED].sum(), dtype=gradient.dtype), None, None
