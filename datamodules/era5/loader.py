"""Batches of series: the values of some locations at all hours of a task."""

import math
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from datamodules.loader import IndexLoader

#: Up to this number of processes, if it is a power of two, train on the same batches as one process.
MAX_ALIKE = 64


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
    """Iterates over one task in batches of series.

    Every process has the same series in every epoch, those with s mod W equal to its rank, so it need not know the
    others. Two, four, ... processes still train on the batches that one process would, see `stratified_permutation`.

    Args:
        times: Hours since the start of the stream `[T]`.
        y: Values of all series `[S, T, V]`.
        mask: Which of them are observed `[S, T, V]`.
        batch_size: The maximum number of series in a batch; if None, all series of the process, in order.
        shuffle: Whether the order is random; it stays fixed if `batch_size` is None.
        world_size: The number of processes that share the series.
        hidden: Series whose values are masked `[S]`; none if not given.
        options: See `IndexLoader`.
    """

    items: ClassVar[str] = "series"
    remedy: ClassVar[str] = "use fewer devices, or more locations"

    def __init__(
        self,
        times: Tensor,
        y: Tensor,
        mask: Tensor,
        batch_size: int | None = None,
        *,
        shuffle: bool = False,
        world_size: int = 1,
        hidden: Tensor | None = None,
        **options: Any,
    ) -> None:
        largest_share = max(1, math.ceil(len(y) / world_size))
        shuffle = shuffle and batch_size is not None
        super().__init__(len(y), batch_size or largest_share, shuffle=shuffle, world_size=world_size, **options)
        self.times, self.y, self.mask, self.hidden = times, y, mask, hidden
        self._is_whole_task = batch_size is None and world_size == 1 and hidden is None

    def shuffled(self, items: Tensor, rng: torch.Generator) -> Tensor:
        """Items in a random order that is even over the processes."""
        return stratified_permutation(items, rng)

    def share(self, order: Tensor) -> Tensor:
        """The series of this process."""
        return order[order % self.world_size == self.rank]

    def batch(self, index: Tensor) -> SeriesBatch:
        """The batch of some series; the task's own tensors, not copies, if it is the whole task."""
        if self._is_whole_task:
            return SeriesBatch(index, self.times, self.y, self.mask)
        mask = self.mask[index] if self.hidden is None else self.mask[index] & ~self.hidden[index, None, None]
        return SeriesBatch(index, self.times, self.y[index], mask)


def stratified_permutation(items: Tensor, rng: torch.Generator, max_modulus: int = MAX_ALIKE) -> Tensor:
    """Items 0, 1, ... in a random order in which each pair of neighbours, from the first on, differs modulo 2.

    Likewise each group of four differs modulo 4, and so on (the radical inverse with Owen's scrambling). So any batch
    of an even size has as many even items as odd ones, and the order of each kind does not depend on the other.

    Args:
        items: The items, in order.
        rng: The random number generator.
        max_modulus: The largest such power of two.

    Example:
        >>> import torch
        >>> order = stratified_permutation(torch.arange(8), torch.Generator().manual_seed(0))
        >>> sorted((order[:4] % 4).tolist()), sorted((order[6:] % 2).tolist())
        ([0, 1, 2, 3], [0, 1])
    """
    if max_modulus == 1 or len(items) < 2:
        return items[torch.randperm(len(items), generator=rng)]
    order, num_pairs = torch.empty_like(items), len(items) // 2
    order[0::2], order[1::2] = (
        stratified_permutation(half, rng, max_modulus // 2) for half in (items[0::2], items[1::2])
    )
    pairs = order[: 2 * num_pairs].reshape(-1, 2)
    swapped = torch.rand(num_pairs, 1, generator=rng) < 0.5
    return torch.cat([pairs.flip(1).where(swapped, pairs).flatten(), order[2 * num_pairs :]])
