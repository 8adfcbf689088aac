"""Batches of series: some locations, at all hours of a task."""

from typing import ClassVar, NamedTuple

from torch import Tensor

from datamodules.loader import IndexLoader


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

    Args:
        times: Hours since the start of the stream `[T]`.
        y: Values of all series `[S, T, V]`.
        mask: Which of them are observed `[S, T, V]`.
        batch_size: How many series a batch has at most; all of them if None.
        seed: Together with the epoch, fixes the order.
        epoch: The epoch the batches are for.
        shuffle: Whether the order is random.
        rank: Which of the processes this is, from 0.
        world_size: How many processes share the series.
        allow_empty: Whether a process may go without any series.
    """

    items: ClassVar[str] = "series"

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
        super().__init__(len(y), batch_size, None, seed, epoch, shuffle, rank, world_size, allow_empty)
        self.times, self.y, self.mask = times, y, mask

    def batch(self, index: Tensor) -> SeriesBatch:
        """The batch of some series; all of them as they are, not a copy.

        Args:
            index: Which series `[B]`.
        """
        if self.batch_size is None:
            return SeriesBatch(index, self.times, self.y, self.mask)
        return SeriesBatch(index, self.times, self.y[index], self.mask[index])
