"""The tasks of a stream: hours split into training and test, values scaled, in memory or in memory-mapped files."""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray
from torch import Tensor

from datamodules.data_folder import writable_folder
from datamodules.era5.fields import Fields, Values
from datamodules.era5.scaling import SERIES_AT_ONCE, Scaling
from datamodules.era5.variables import check_observed
from gpvae.utils.atomic import creating_folder, remove_abandoned
from gpvae.utils.locks import excludes_others, exclusive
from gpvae.utils.row_store import Files, Memory, RowStore, compute_rows


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

    Raises:
        ValueError: A task has less than two hours, one for training and one for test.
    """
    task_of_hour = hours // hours_per_task if times_per_task is None else np.arange(len(hours)) // times_per_task
    tasks = []
    for task in range(num_tasks):
        indices = np.flatnonzero(task_of_hour == task)
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
        num_test = min(max(round(test_share * len(indices)), 1), len(indices) - 1)
        held_out = np.random.default_rng([seed, 1, task]).permutation(len(indices)) < num_test
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


FOLDER = "era5_on_disk"


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
        observed: The fraction of values that are observed.
    """

    scaling: Scaling
    train: list[TaskValues]
    test: list[TaskValues]
    observed: float


def prepare(
    fields: Fields,
    tasks: Sequence[TaskHours],
    first: NDArray[np.int64],
    *,
    read: Callable[[int, int], Values] | None = None,
    store: RowStore | None = None,
) -> Prepared:
    """Scale the values of all tasks, one after the other.

    Args:
        fields: The data of the stream.
        tasks: The hours of its tasks.
        first: The hours of the first task that set the scale.
        read: Reads values, as `fields.read`, which is the default.
        store: The store for the scaled values; memory if not given.
    """
    read, store, scaling = read or fields.read, store or Memory(), None
    series, seen = torch.arange(len(fields.latitude)), torch.zeros(2, len(fields.variables), dtype=torch.int64)
    parts: dict[str, list[TaskValues]] = {"train": [], "test": []}
    for number, task in enumerate(tasks):
        begin = task.first
        values = torch.from_numpy(read(begin, task.last + 1))
        mask = values.isfinite()
        seen += torch.stack([mask.sum((0, 1)), torch.full_like(seen[1], mask[..., 0].numel())])
        if scaling is None:
            hours = torch.from_numpy(first - begin)
            scaling = Scaling.fit(fields.variables, values[:, hours], mask[:, hours])
        for name, indices in task._asdict().items():
            hours = torch.from_numpy(indices - begin)
            y, observed = compute_rows(
                store,
                _file_names(name, number),
                series,
                SERIES_AT_ONCE,
                _scaled(scaling, values[:, hours], mask[:, hours]),
            )
            parts[name].append(TaskValues(torch.from_numpy(fields.hours[indices]), y, observed))
    check_observed(fields.variables, (seen[0] > 0).tolist())
    assert scaling is not None
    return Prepared(scaling, parts["train"], parts["test"], float(seen[0].sum() / seen[1].sum()))


def _scaled(scaling: Scaling, values: Tensor, mask: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """A function that returns the scaled values of some series, 0 where they are missing, and their mask."""
    return lambda some: (scaling.to_model(values[some], some).where(mask[some], 0.0).float(), mask[some])


def prepare_on_disk(
    fields: Fields, tasks: Sequence[TaskHours], first: NDArray[np.int64], options: dict[str, object]
) -> Prepared:
    """As `prepare`, with the result in files that later runs reuse; memory holds one task at a time.

    Args:
        fields: The data of the stream.
        tasks: The hours of its tasks.
        first: The hours of the first task that set the scale.
        options: Everything else that the result depends on.
    """
    about = [options, [v.short_name for v in fields.variables], str(fields.origin), fields.sources]
    digest = hashlib.sha256(json.dumps(about, default=str, sort_keys=True).encode())
    for array in (fields.hours, fields.latitude, fields.longitude):
        digest.update(array.tobytes())
    parent = writable_folder(FOLDER)
    folder = parent / digest.hexdigest()[:32]
    lock = parent / f"{folder.name}.lock"
    with exclusive(lock, f"the data of this stream are being written to {folder}"):
        remove_abandoned(folder, exclusive=excludes_others(lock))
        if not folder.exists():
            size = 5 * len(fields.latitude) * len(fields.hours) * len(fields.variables) / 1e9
            rank_zero_info(f"Writing the values of all tasks to {folder}, {size:.3g} GB; later runs reuse them.")
            with creating_folder(folder) as temporary:
                prepared = prepare(fields, tasks, first, store=Files(temporary))
                scaling = {
                    "mean": prepared.scaling.mean,
                    "deviation": prepared.scaling.deviation,
                    "observed": prepared.observed,
                }
                torch.save(scaling, temporary / "scaling.pt")
    return _open(folder, fields, tasks)


def _file_names(part: str, task: int) -> list[str]:
    """The file names of the values and the mask of a task at its training or held-out hours."""
    return [f"{part}_{task:02d}_{kind}" for kind in ("y", "mask")]


def _open(folder: Path, fields: Fields, tasks: Sequence[TaskHours]) -> Prepared:
    saved = torch.load(folder / "scaling.pt", weights_only=True)
    files = Files(folder)
    parts: dict[str, list[TaskValues]] = {"train": [], "test": []}
    for number, task in enumerate(tasks):
        for name, indices in task._asdict().items():
            shape, dtypes = (len(fields.latitude), len(indices), len(fields.variables)), (torch.float32, torch.bool)
            try:
                y, mask = (
                    files.open(file, shape, dtype)
                    for file, dtype in zip(_file_names(name, number), dtypes, strict=True)
                )
            except FileNotFoundError as error:
                raise FileNotFoundError(f"{error}: remove {folder}, and it is created again") from error
            parts[name].append(TaskValues(torch.from_numpy(fields.hours[indices]), y, mask))
    scaling = Scaling(fields.variables, saved["mean"], saved["deviation"])
    return Prepared(scaling, parts["train"], parts["test"], saved["observed"])
