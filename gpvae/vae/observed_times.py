"""The times of a stream in constant memory: moments of intervals instead of times."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

#: Number of nodes that stand for the times of an interval.
NODES_PER_INTERVAL = 2


@dataclass(frozen=True)
class ObservedTimes:
    """The observed times of a stream, as moments in each of K equal intervals of a horizon.

    In sums over time, mean ± standard deviation of the times in an interval stand for them, each with half their
    weight. This is exact for parabolas, for cubics if times are evenly spaced, and for intervals with one or two times.

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

    @property
    def nodes(self) -> Tensor:
        """The nodes of the intervals that have been observed, `[2 K']`."""
        seen = self._seen
        number, total, squares = self.moments[:, seen]
        mean = total / number
        spread = (squares / number - mean**2).clamp_min(0).sqrt()
        positions = seen[:, None] + torch.stack([mean - spread, mean + spread], -1)
        return self.origin + self.length / self.moments.shape[-1] * positions.flatten()

    def at_nodes(self, sums: Tensor) -> Tensor:
        """The weights of the nodes, `[..., 2 K']`, given sums of weights over intervals, `[..., K]`."""
        return sums[..., self._seen].repeat_interleave(NODES_PER_INTERVAL, -1) / NODES_PER_INTERVAL

    def stretched(self, length: Tensor) -> "ObservedTimes":
        """The same times in the intervals of a horizon that has doubled, once or several times."""
        moments, former = self.moments, self.length
        while length > 1.5 * former:
            (n, total, squares), (m, right, right_squares) = moments.unflatten(-1, (-1, 2)).unbind(-1)
            pairs = [n + m, (total + right + m) / 2, (squares + right_squares + 2 * right + m) / 4]
            moments, former = _followed_by_zeros(torch.stack(pairs)), 2 * former
        return replace(self, length=length, moments=moments)

    @property
    def _seen(self) -> Tensor:
        """The intervals that have been observed."""
        return self.moments[0].nonzero()[:, 0]

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
