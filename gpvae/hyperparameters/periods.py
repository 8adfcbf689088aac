"""Periods of targets over their inputs, from a periodogram."""

import math

import torch
from torch import Tensor

from gpvae.hyperparameters.search_space import extent_of

#: Number of peaks of a periodogram that are used, and maximum number of points from which it is computed.
NUM_PEAKS, MAX_POINTS = 4, 1000


def likely_periods(x: Tensor, y: Tensor) -> Tensor:
    """Periods at the highest peaks of a periodogram of each input dimension, halved and doubled too, `[S, D]`.

    Twice the period is needed if the first overtone is the strongest. Half the period is needed for gpytorch's cosine
    kernel, whose period is half a cycle.

    Args:
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
    """
    num = min(len(x), MAX_POINTS)
    some = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:num].to(x.device)
    centred = (y - y.mean(-1, keepdim=True))[..., some].reshape(-1, num)
    frequencies = torch.arange(1, 4 * min(len(x), 2 * MAX_POINTS) + 1).to(x) / 8  # four in each peak
    periods = []
    for column, extent in zip(x[some].mT, extent_of(x), strict=True):
        phases = 2 * math.pi * frequencies[:, None] * column / extent
        heights = ((centred @ phases.cos().mT) ** 2 + (centred @ phases.sin().mT) ** 2).sum(0)
        around = torch.nn.functional.max_pool1d(heights[None], 3, 1, 1)[0]
        peaks = torch.where(heights == around, heights, 0).topk(min(NUM_PEAKS, len(heights))).indices
        periods.append(extent / frequencies[peaks])
    return torch.cat([torch.stack(periods, -1) * multiple for multiple in (1, 0.5, 2)])
