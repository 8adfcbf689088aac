"""The times of a stream in constant memory: moments of intervals instead of times."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

#: Largest number of nodes that stand for the times of an interval.
MAX_NODES = 16


@dataclass(frozen=True)
class ObservedTimes:
    """The observed times of a stream, as moments in each of K equal intervals of a horizon.

    In sums over time, evenly spaced nodes with the same mean and variance stand for the times of an interval: as many
    as there are times, up to `MAX_NODES`. This is exact for parabolas, and for times that are evenly spaced.

    Attributes:
        origin: Where the horizon begins.
        length: Length of the horizon.
        moments: Number, sum and sum of squares of the times in each interval, as positions from 0 to 1, `[3, K]`.
    """

    origin: Tensor
    length: Tensor
    moments: Tensor

    def including(self, times: Tensor) -> "ObservedTimes":
        """Also times `[T]` of a new task."""
        index, position = self._place(times)
        powers = torch.stack([torch.ones_like(position), position, position**2])
        return replace(self, moments=self.moments.index_add(-1, index, powers))

    def sums(self, times: Tensor, weights: Tensor) -> Tensor:
        """Sums of weights `[..., T]` of times `[T]` over the intervals, `[..., K]`."""
        index, _ = self._place(times)
        return weights.new_zeros(*weights.shape[:-1], self.moments.shape[-1]).index_add_(-1, index, weights)

    @cached_property
    def nodes(self) -> Tensor:
        """The nodes of all intervals, `[N]`."""
        index, sizes = self._interval, self._sizes
        number, total, squares = self.moments
        mean = total / number
        deviation = (squares / number - mean**2).clamp_min(0).sqrt()
        rank = torch.arange(len(index), device=index.device) - (sizes.cumsum(0) - sizes)[index]
        spacing = (12 / (sizes**2 - 1).clamp_min(1)).sqrt()  # of nodes with a variance of one
        positions = mean[index] + (deviation * spacing)[index] * (rank - (sizes[index] - 1) / 2)
        return self.origin + self.length / len(number) * (index + positions)

    def at_nodes(self, sums: Tensor) -> Tensor:
        """The weights of the nodes, `[..., N]`, given sums of weights over intervals, `[..., K]`."""
        return (sums / self._sizes.clamp_min(1))[..., self._interval]

    def stretched(self, length: Tensor) -> "ObservedTimes":
        """The same times in the intervals of a horizon that has doubled, once or several times."""
        moments, former = self.moments, self.length
        while length > 1.5 * former:
            (n, total, squares), (m, right, right_squares) = moments.unflatten(-1, (-1, 2)).unbind(-1)
            pairs = [n + m, (total + right + m) / 2, (squares + right_squares + 2 * right + m) / 4]
            moments, former = _followed_by_zeros(torch.stack(pairs)), 2 * former
        return replace(self, length=length, moments=moments)

    @cached_property
    def _sizes(self) -> Tensor:
        """The number of nodes of each interval, `[K]`."""
        return self.moments[0].clamp_max(MAX_NODES).long()

    @cached_property
    def _interval(self) -> Tensor:
        """The interval of each node, `[N]`."""
        return torch.arange(len(self._sizes), device=self._sizes.device).repeat_interleave(self._sizes)

    def _place(self, times: Tensor) -> tuple[Tensor, Tensor]:
        """The interval of each time, and the position in it from 0 to 1."""
        number = self.moments.shape[-1]
        tiny = torch.finfo(self.length.dtype).tiny
        share = number * (times.to(self.moments) - self.origin) / self.length.clamp_min(tiny)
        index = share.long().clamp(0, number - 1)
        return index, share - index


def stretched(sums: Tensor, former: Tensor, present: Tensor) -> Tensor:
    """Sums over intervals of a horizon that has doubled, once or several times.

    Args:
        sums: The sums, `[..., K]`, K even.
        former: The former horizon.
        present: The present one.
    """
    while present > 1.5 * former:
        sums, former = _followed_by_zeros(sums.unflatten(-1, (-1, 2)).sum(-1)), 2 * former
    return sums


def _followed_by_zeros(pairs: Tensor) -> Tensor:
    """Values of pairs of intervals, `[..., K / 2]`, and zeros for the half that is new, `[..., K]`."""
    return torch.cat([pairs, torch.zeros_like(pairs)], -1)
