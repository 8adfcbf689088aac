"""The tasks of a stream: hours split into training and test, values scaled."""

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.era5.fields import Fields, Values
from datamodules.era5.files.sizes import check_selection
from datamodules.era5.scaling import SERIES_AT_ONCE, Scaling
from datamodules.era5.screening import Screen
from datamodules.era5.value_digests import Digest
from datamodules.era5.variables import check_observed
from datamodules.splits import hold_out
from gpvae.utils.row_store import Memory, RowStore, compute_rows

BYTES_PER_VALUE = 12  # as read, as scaled, with copies on the way


class TaskHours(NamedTuple):
    """The hours of a task, as indices into the hours of the stream.

    Args:
        train: Training hours, in order.
        test: Held-out hours, in order.
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def first(self) -> int:
        """The first hour of both."""
        return int(min(self.train[0], self.test[0]))

    @property
    def last(self) -> int:
        """The last hour of both."""
        return int(max(self.train[-1], self.test[-1]))


def merge(tasks: Sequence[TaskHours]) -> TaskHours:
    """Several tasks as one."""
    train, test = (np.concatenate(indices) for indices in zip(*tasks, strict=True))
    return TaskHours(train, test)


def split_hours(
    hours: NDArray[np.float64],
    num_tasks: int,
    hours_per_task: int,
    test_share: float,
    seed: int,
    step: float = 1.0,
    *,
    times_per_task: int | None = None,
    absent: Container[int] = (),
) -> list[TaskHours]:
    """Divide a stream into tasks of equal length in time or in number, and hold out a fraction of the hours of each.

    A task with missing hours has fewer hours than others. Which hours of a task are held out depends only on the seed,
    the task and its number of hours.

    Args:
        hours: The hours with data since the start of the stream, in order `[T]`.
        num_tasks: The number of tasks.
        hours_per_task: The length of each.
        test_share: The fraction of its hours that is held out.
        seed: Fixes which.
        step: The hours from one time of the files to the next, for messages.
        times_per_task: The number of times of each task, instead of its length.
        absent: Tasks that have no hours here.

    Raises:
        ValueError: A task has less than two hours, one for training and one for test.
    """
    task_of_hour = hours // hours_per_task if times_per_task is None else np.arange(len(hours)) // times_per_task
    tasks = []
    for task in range(num_tasks):
        indices = np.flatnonzero(task_of_hour == task)
        if task in absent:
            tasks.append(TaskHours(indices[:0], indices[:0]))
            continue
        if times_per_task is not None and len(indices) < times_per_task:
            raise ValueError(
                f"Task {task + 1} of {num_tasks} has {len(indices)} of {times_per_task} times: lower num_tasks or "
                "times_per_task, or give more files."
            )
        if len(indices) < 2:
            raise ValueError(
                f"Task {task + 1} of {num_tasks}, {hours_per_task} hours from hour {task * hours_per_task} of the "
                f"stream, has {len(indices)} hour(s) of data: it needs at least 2. "
                + _advice_on_length(hours_per_task, step)
                + "Lower num_tasks or raise hours_per_task, choose another start, or give more files."
            )
        held_out = hold_out(len(indices), test_share, seed, task)
        tasks.append(TaskHours(indices[~held_out], indices[held_out]))
    return tasks


def _advice_on_length(hours_per_task: int, step: float) -> str:
    """A sentence on tasks that are too short for the step of the files; empty if they are not."""
    if hours_per_task >= 2 * step:
        return ""
    return (
        f"The files have one time every {step:g} hours, so hours_per_task must be at least {math.ceil(2 * step)}; "
        f"{math.ceil(hours_per_task * step)} gives {hours_per_task} times in each task. "
    )


def check_memory(fields: Fields, tasks: Sequence[TaskHours], on_disk: bool) -> None:
    """Raise if the values that are in memory together, all of them or those of one task, do not fit there."""
    num_times, remedy = len(fields.hours), "or set on_disk to true"
    if on_disk:
        num_times, remedy = max(task.last + 1 - task.first for task in tasks), "or shorter tasks"
    remedy = f"choose fewer `points` or `variables`, {remedy}"
    check_selection(len(fields.latitude), num_times, len(fields.variables), BYTES_PER_VALUE, remedy)


class TaskValues(NamedTuple):
    """The values of all S series at some hours of a task; times `[T]`, y and mask `[S, T, V]` as in `SeriesBatch`."""

    times: Tensor
    y: Tensor
    mask: Tensor


@dataclass(frozen=True)
class Prepared:
    """The scaled values of all tasks.

    Args:
        scaling: The scaling.
        train: The values of each task at its training hours.
        test: The values of each task at its held-out hours.
        counts: How many values of each variable every task has, observed ones and all `[K, 2, V]`.
        digests: The digests of the values of each task.
        verify: Raises if the stored values of a task are damaged.
    """

    scaling: Scaling
    train: list[TaskValues]
    test: list[TaskValues]
    counts: Tensor
    digests: list[Digest]
    verify: Callable[[int], None] = lambda task: None

    @property
    def observed(self) -> float:
        """The fraction of values that are observed."""
        observed, total = self.counts.sum((0, 2))
        return float(observed / total)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of hours with data in each task."""
        return tuple(len(train.times) + len(test.times) for train, test in zip(self.train, self.test, strict=True))


def prepare(
    fields: Fields,
    tasks: Sequence[TaskHours],
    first: NDArray[np.int64] | None = None,
    *,
    read: Callable[[int, int], Values] | None = None,
    store: RowStore | None = None,
    scaling: Scaling | None = None,
) -> Prepared:
    """Scale the values of all tasks, one after the other.

    Args:
        fields: The data of the stream.
        tasks: The hours of its tasks.
        first: The hours of the first task that set the scale.
        read: Reads values, as `fields.read`, which is the default.
        store: The store for the scaled values; memory if not given.
        scaling: The scale, if it is known; in place of `first`.
    """
    read, store, known = read or fields.read, store or Memory(), scaling is not None
    parts: dict[str, list[TaskValues]] = {"train": [], "test": []}
    counts, digests, screen = [], [], Screen(fields)
    for number, task in enumerate(tasks):
        first_hour, end = (task.first, task.last + 1) if len(task.train) else (0, 0)  # an absent task has no hours
        measured = read(first_hour, end)
        values = torch.from_numpy(screen(measured, first_hour))
        if scaling is None:
            assert first is not None
            hours = torch.from_numpy(first - task.first)
            scaling = _fit_scaling(fields, values[:, hours])
        for name, part in scale_task(store, number, task, fields, values, scaling).items():
            parts[name].append(part)
        counts.append(count_values(values))
        digests.append(digest_of(fields, measured, first_hour))
    assert scaling is not None
    screen.report()
    prepared = Prepared(scaling, parts["train"], parts["test"], torch.stack(counts), digests)
    return prepared if known else checked(fields, prepared)


def _fit_scaling(fields: Fields, values: Tensor) -> Scaling:
    """The scaling of the first values, without those of series that are held out."""
    mask = values.isfinite()
    if fields.held_out is None:
        return Scaling.fit(fields.variables, values, mask)
    mask[torch.from_numpy(fields.held_out)] = False
    return Scaling.fit(fields.variables, values, mask, torch.from_numpy(fields.positions))


def scale_task(
    store: RowStore, number: int, task: TaskHours, fields: Fields, values: Tensor, scaling: Scaling
) -> dict[str, TaskValues]:
    """The scaled values of a task at its training (`train`) and its held-out hours (`test`).

    Args:
        store: The store for them.
        number: The task, from 0.
        task: Its hours.
        fields: The data of the stream.
        values: The values of the task in the units of files `[S, t, V]`, from its first hour to its last.
        scaling: The scaling.
    """
    series, finite = torch.arange(len(fields.latitude)), values.isfinite()
    parts = {}
    for name, indices in task._asdict().items():
        hours = torch.from_numpy(indices - task.first if len(indices) else indices)
        mask = finite
        if name == "train" and fields.held_out is not None:
            mask = finite & ~torch.from_numpy(fields.held_out)[:, None, None]
        y, observed = compute_rows(
            store, file_names(name, number), series, SERIES_AT_ONCE, _scaled(scaling, values[:, hours], mask[:, hours])
        )
        parts[name] = TaskValues(torch.from_numpy(fields.hours[indices]), y, observed)
    return parts


def _scaled(scaling: Scaling, values: Tensor, mask: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """A function that returns the scaled values of some series, 0 where they are missing, and their mask."""
    return lambda some: (scaling.to_model(values[some], some).where(mask[some], 0.0).float(), mask[some])


def count_values(values: Tensor) -> Tensor:
    """How many values of each variable there are, observed ones and all `[2, V]`.

    Args:
        values: The values in the units of files `[S, t, V]`; NaN where they are missing.
    """
    observed = values.isfinite().sum((0, 1))
    return torch.stack([observed, torch.full_like(observed, values[..., 0].numel())])


def digest_of(fields: Fields, values: Values, first: int) -> Digest:
    """The digests of values that were read.

    Args:
        fields: The data of the stream.
        values: The values of all series from some hour on `[S, t, V]`.
        first: The index of this hour.
    """
    end = first + values.shape[1]
    return Digest.of(values, fields.hours[first:end], fields.preliminary(first, end))


def checked(fields: Fields, prepared: Prepared) -> Prepared:
    """The prepared values; raise if a variable has none.

    Args:
        fields: The data of the stream.
        prepared: The values.
    """
    check_observed(fields.variables, (prepared.counts[:, 0].sum(0) > 0).tolist())
    return prepared


def file_names(part: str, task: int) -> list[str]:
    """The file names of the values and the mask of a task.

    Args:
        part: Its hours: `train` or `test`.
        task: The task, from 0.
    """
    return [f"{part}_{task:02d}_{kind}" for kind in ("y", "mask")]
