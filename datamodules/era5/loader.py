"""Batches of series: some locations, at all hours of a task."""

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from datamodules.loader import IndexLoader

#: Up to so many processes, if their number is a power of two, learn in the same batches as one.
MOST_ALIKE = 64


class SeriesBatch(NamedTuple):
    """Some series of a task.

    Args:
        series: Which series these are `[B]`, int64.
        times: Hours since the start of the stream `[T]`, double precision.
        y: Values on the scale of the model `[B, T, V]`; 0 where not observed.
        mask: Which values are observed `[B, T, V]`.
    """

    series: Tensor
    times: Tensor
    y: Tensor
    mask: Tensor


class SeriesLoader(IndexLoader[SeriesBatch]):
    """Gives out one task in batches of series, as `IndexLoader` says.

    Every process has series of its own, those with its own remainder, in every epoch; so it need know nothing of the
    others. Two, four, ... processes still learn in the batches that one would, see `dealt`.

    Args:
        times: Hours since the start of the stream `[T]`.
        y: Values of all series `[S, T, V]`.
        mask: Which of them are observed `[S, T, V]`.
        batch_size: How many series a batch has at most; if None, all those of the process, in order.
        seed: Together with the epoch, fixes the order.
        epoch: The epoch the batches are for.
        shuffle: Whether the order is random.
        rank: Which of the processes this is, from 0.
        world_size: How many processes share the series.
        allow_empty: Whether a process may go without any series.
    """

    items: ClassVar[str] = "series"
    remedy: ClassVar[str] = "use fewer devices, or more places"

    def __init__(
        self,
        times: Tensor,
        y: Tensor,
        mask: Tensor,
        batch_size: int | None = None,
        seed: int = 0,
        epoch: int = 0,
        shuffle: bool = False,
        rank: int = 0,
        world_size: int = 1,
        allow_empty: bool = False,
    ) -> None:
        largest_share = max(1, math.ceil(len(y) / world_size))
        shuffle = shuffle and batch_size is not None
        super().__init__(len(y), batch_size or largest_share, None, seed, epoch, shuffle, rank, world_size, allow_empty)
        self.times, self.y, self.mask = times, y, mask
        self._as_they_are = batch_size is None and world_size == 1

    def shuffled(self, items: Tensor, rng: torch.Generator) -> Tensor:
        """Items in a random order, dealt out evenly.

        Args:
            items: The items.
            rng: Where random numbers come from.
        """
        return dealt(items, rng)

    def share(self, order: Tensor) -> Tensor:
        """Of all series, those with the remainder of this process.

        Args:
            order: The order of all items, the same on all processes.
        """
        return order[order % self.world_size == self.rank]

    def batch(self, index: Tensor) -> SeriesBatch:
        """The batch of some series; all of them as they are, not a copy.

        Args:
            index: Which series `[B]`.
        """
        if self._as_they_are:
            return SeriesBatch(index, self.times, self.y, self.mask)
        return SeriesBatch(index, self.times, self.y[index], self.mask[index])


def dealt(items: Tensor, rng: torch.Generator, most: int = MOST_ALIKE) -> Tensor:
    """Items 0, 1, ... in a random order in which every two, from the first on, have different remainders by 2.

    Likewise every four by 4, and so on (it is the radical inverse, with Owen's scrambling): any batch of an even size
    has as many even items as odd ones, and these come in an order of their own, whatever becomes of the others.

    Args:
        items: The items, in order.
        rng: Where random numbers come from.
        most: The largest such power of two.

    Example:
        >>> import torch
        >>> order = dealt(torch.arange(8), torch.Generator().manual_seed(0))
        >>> sorted((order[:4] % 4).tolist()), sorted((order[6:] % 2).tolist())
        ([0, 1, 2, 3], [0, 1])
    """
    if most == 1 or len(items) < 2:
        return items[torch.randperm(len(items), generator=rng)]
    order, num_pairs = torch.empty_like(items), len(items) // 2
    order[0::2], order[1::2] = dealt(items[0::2], rng, most // 2), dealt(items[1::2], rng, most // 2)
    pairs = order[: 2 * num_pairs].reshape(-1, 2)
    swapped = torch.rand(num_pairs, 1, generator=rng) < 0.5
    return torch.cat([pairs.flip(1).where(swapped, pairs).flatten(), order[2 * num_pairs :]])
