"""Batches of a task held in memory, in an order that a resumed run repeats exactly."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

BatchT = TypeVar("BatchT")


class Batch(NamedTuple):
    """Some points of a task.

    Args:
        x: Inputs `[B, D]`.
        y: Targets `[B]`.
        index: Which points of the task these are `[B]`, int64.
    """

    x: Tensor
    y: Tensor
    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which nobody needs here


class IndexLoader(ABC, Generic[BatchT]):
    """Iterates over one task, in batches that are a pure function of seed, epoch, rank and world size.

    Without a batch size, every batch is the whole task in its own order, the same on every process. With one, the
    processes share the items: each takes every `world_size`-th of one common order and cuts its share into
    batches of nearly equal size. All processes get the same number of batches, and every item comes exactly once in a
    pass. (Where shares differ by an item, batches of one would run out early on some processes; there a batch may hold
    two.)

    The order comes from a generator of its own, so other random draws do not affect it. The loader saves its position
    within the epoch in checkpoints, and resumes from it.

    Args:
        num_items: The number of items in the task.
        batch_size: The maximum number of items in a batch; the whole task if None.
        num_batches: The number of batches in an epoch, taken from as many passes over the task as needed; one pass if
            None.
        min_batches: The minimum number of batches in an epoch of whole passes, if `num_batches` is None.
        seed: Fixes the order, together with the epoch and the pass.
        epoch: The epoch the batches are for.
        shuffle: Whether the order is random, and new in every pass. It matters only with a batch size.
        rank: The rank of this process, from 0.
        world_size: The number of processes that share the items.
        allow_empty: Whether a process may get no items: fine for evaluation, a hang in training.
    """

    items: ClassVar[str] = "items"
    """The plural noun for the items in messages."""
    remedy: ClassVar[str] = "use fewer devices, or more items"
    """The advice given where there are fewer items than processes."""

    def __init__(
        self,
        num_items: int,
        batch_size: int | None = None,
        *,
        num_batches: int | None = None,
        min_batches: int = 1,
        seed: int = 0,
        epoch: int = 0,
        shuffle: bool = False,
        rank: int = 0,
        world_size: int = 1,
        allow_empty: bool = False,
    ) -> None:
        needed = 1 if batch_size is None else world_size
        if num_items < needed and not allow_empty:
            raise ValueError(
                f"A task of {num_items} {self.items} cannot be shared by {needed} process(es), each of which needs at "
                f"least one: {self.remedy}."
            )
        self.num_items, self.batch_size = num_items, batch_size
        self.num_batches, self.min_batches = num_batches, min_batches
        self.seed, self.epoch, self.shuffle = seed, epoch, shuffle
        self.rank, self.world_size = rank, world_size
        self._num_yielded = 0  # batches yielded in this epoch
        self._first = 0  # the batch at which the next iteration begins

    @abstractmethod
    def batch(self, index: Tensor) -> BatchT:
        """The batch of some items.

        Args:
            index: Which items of the task `[B]`.
        """

    def __len__(self) -> int:
        """The number of batches in the whole epoch, including those before a resume."""
        per_pass = self._batches_per_pass
        if self.num_batches is None or per_pass == 0:
            return per_pass * math.ceil(self.min_batches / max(1, per_pass))
        return self.num_batches

    def __iter__(self) -> Iterator[BatchT]:
        # A generator: Lightning creates iterators that it never uses, and those must not consume the resume position.
        first, self._first = self._first, 0
        parts: tuple[Tensor, ...] = ()
        for number in range(first, len(self)):
            pass_number, position = divmod(number, self._batches_per_pass)
            if position == 0 or number == first:
                parts = self._parts(pass_number)
            self._num_yielded = number + 1
            yield self.batch(parts[position])

    def state_dict(self) -> dict[str, int]:
        """The position within the epoch: its number, and how many of its batches were yielded."""
        return {"epoch": self.epoch, "batch": self._num_yielded}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Begin the next iteration after the last batch that was yielded.

        A position in another epoch, or at the end of this one, is ignored: Lightning restores such positions when a
        checkpoint was written after the last batch of an epoch.

        Args:
            state: The result of `state_dict`.
        """
        if state["epoch"] == self.epoch and state["batch"] < len(self):
            self._num_yielded = self._first = state["batch"]

    @property
    def _batches_per_pass(self) -> int:
        if self.batch_size is None:
            return min(1, self.num_items)
        smallest, rest = divmod(self.num_items, self.world_size)
        largest = smallest + (rest > 0)
        if smallest == 0:  # one item for each of the first processes
            return int(self.rank < rest)
        return min(math.ceil(largest / self.batch_size), smallest)

    def _parts(self, pass_number: int) -> tuple[Tensor, ...]:
        if self.batch_size is None:
            return (torch.arange(self.num_items),)
        order = torch.arange(self.num_items)
        if self.shuffle:
            (mixed,) = np.random.SeedSequence([self.seed, self.epoch, pass_number]).generate_state(1, np.uint64)
            order = self.shuffled(order, torch.Generator().manual_seed(int(mixed)))
        return self.share(order).tensor_split(self._batches_per_pass)

    def shuffled(self, items: Tensor, rng: torch.Generator) -> Tensor:
        """Items in a random order.

        Args:
            items: The items.
            rng: The random number generator.
        """
        return items[torch.randperm(len(items), generator=rng)]

    def share(self, order: Tensor) -> Tensor:
        """The items of this process.

        Args:
            order: The order of all items, the same on all processes.
        """
        return order[self.rank :: self.world_size]


class TaskLoader(IndexLoader[Batch]):
    """Iterates over the points of one task.

    Args:
        x: Inputs of the task `[N, D]`.
        y: Targets of the task `[N]`.
        batch_size: The maximum number of points in a batch; the whole task if None.
        options: See `IndexLoader`.
    """

    items: ClassVar[str] = "points"
    remedy: ClassVar[str] = (
        "use fewer devices, fewer tasks, or batch_size=None, which gives every process the whole task"
    )

    def __init__(self, x: Tensor, y: Tensor, batch_size: int | None = None, **options: Any) -> None:
        if len(x) != len(y):
            raise ValueError(f"x has {len(x)} points and y has {len(y)}: they must have the same number.")
        super().__init__(len(x), batch_size, **options)
        self.x, self.y = x, y

    def batch(self, index: Tensor) -> Batch:
        """The batch of some points; the task's own tensors, not copies, if it is the whole task."""
        if self.batch_size is None:
            return Batch(self.x, self.y, index)
        return Batch(self.x[index], self.y[index], index)
