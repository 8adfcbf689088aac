"""Streams of many series over common hours: split into tasks, scaled, and loaded in batches of series."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from datamodules.era5.continuation import Continuation
from datamodules.era5.description import SeriesDescription
from datamodules.era5.fields import Fields
from datamodules.era5.held_out import hold_out_locations
from datamodules.era5.loader import SeriesLoader
from datamodules.era5.prediction_times import check_options, prediction_times
from datamodules.era5.prepared import TaskValues, check_memory, merge, prepare, split_hours
from datamodules.era5.prepared_files import prepare_on_disk
from datamodules.era5.series_data import SeriesData
from datamodules.era5.task_length import TaskLength
from datamodules.era5.times_to_predict import group_times, prediction_loader, unobserved
from datamodules.stream import TaskStream, check_minimum

EVALUATION_BATCH = 64  # series


class SeriesStream(SeriesData):
    """Series of several variables over common hours, divided into tasks of equal length in time.

    A fraction of the hours of each task is held out for test, the same in all series. Values are transformed, and
    standardised by the training hours of the first task.

    Args:
        num_tasks: The number of tasks; as many whole tasks as there are data if None.
        hours_per_task: The length of each task in hours, including missing ones.
        test_share: The fraction of the hours of each task that is held out for test.
        seed: Fixes which hours are held out, and the order of minibatches.
        batch_size: Series in a minibatch on each device; all of them at every step if not given.
        epochs_per_task: Epochs each task is learnt for.
        min_steps_per_task: The minimum number of optimiser steps for each task: where there are few series, an epoch
            makes several passes over them. If not given, every epoch is one pass.
        stop_after: The number of tasks to learn, from the first; all if not given.
        predict_every: Hours between the times to predict, such as 0.5, from the start of the stream to the last hour
            of the tasks learnt; the held-out hours of every task if not given.
        predict_until: Predict beyond the tasks learnt, up to this date (2024-03-07T06:00) or for this number of hours:
            every `predict_every` hours from the start; if that is not given, only the hours after the last one learnt.
        joint: Whether to learn all tasks at once, as one: the baseline for a stream of tasks. Hours are held out, and
            values standardised, as in the stream.
        on_disk: Whether to keep the values in files of the folder GPVAE_DATA_DIR, written once, instead of in memory:
            for more series than fit in memory.
        times_per_task: The number of times of each task, instead of `hours_per_task`: for times at irregular intervals.
        test_locations: The number of locations to hold out, drawn at random: none of their values are learnt, and they
            are scored apart, by models that predict at locations never seen. None if not given.
    """

    changeable = TaskStream.changeable | {"batch_size", "min_steps_per_task"}

    def __init__(
        self,
        num_tasks: int | None = 10,
        hours_per_task: int = 186,
        *,
        test_share: float = 0.2,
        seed: int = 0,
        batch_size: int | None = None,
        epochs_per_task: int = 20,
        min_steps_per_task: int | None = None,
        stop_after: int | None = None,
        predict_every: float | None = None,
        predict_until: str | float | None = None,
        joint: bool = False,
        on_disk: bool = False,
        times_per_task: int | None = None,
        test_locations: int | None = None,
    ) -> None:
        super().__init__(
            1 if joint and num_tasks else num_tasks, seed=seed, epochs_per_task=epochs_per_task, stop_after=stop_after
        )
        check_minimum(
            hours_per_task=(hours_per_task, 2),
            batch_size=(batch_size, 1),
            min_steps_per_task=(min_steps_per_task, 1),
            times_per_task=(times_per_task, 2),
            test_locations=(test_locations, 1),
        )
        if not 0 < test_share < 1:
            raise ValueError(f"test_share is {test_share}: it must be between 0 and 1, such as 0.2.")
        check_options(predict_every, predict_until)
        self.hours_per_task, self.test_share, self.batch_size = hours_per_task, test_share, batch_size
        self.min_steps_per_task, self.times_per_task = min_steps_per_task, times_per_task
        self.predict_every, self.predict_until = predict_every, predict_until
        self.joint, self.num_parts = joint, num_tasks
        self.on_disk, self.test_locations = on_disk, test_locations
        self._continuation: Continuation | None = None
        self.hparams.pop("on_disk", None)  # a run may be resumed with another value: the data are the same

    def adopt_options(self, saved: Mapping[str, Any]) -> None:
        """Go on without a minimum number of steps if the checkpoint is of a version that had none.

        Args:
            saved: The options in the checkpoint.
        """
        if "min_steps_per_task" not in saved and not self.accept_changes:
            self.hparams.pop("min_steps_per_task", None)
            self.min_steps_per_task = None

    @abstractmethod
    def open(self) -> AbstractContextManager[Fields]:
        """The data in the units of files, from the first hour of the stream to its last, as long as they are open."""

    def setup(self, stage: str | None = None) -> None:
        """Read the values, split them into tasks and scale them, once."""
        if self._data is not None:
            return
        if self._continuation is not None:
            known = hold_out_locations(self._continuation.fields, self.test_locations, self.seed)
            self._continuation = replace(self._continuation, fields=known)
            self._data = self._continuation.fields, self._continuation.prepare(self.test_share, self.seed)
            return
        with self.open() as fields:
            fields = hold_out_locations(fields, self.test_locations, self.seed)
            if self.num_parts is None:
                self.num_parts = self.task_length.count(fields)
                self._num_tasks = 1 if self.joint else self.num_parts
            cut = fields.hours, self.num_parts, self.hours_per_task, self.test_share, self.seed, fields.step
            split = split_hours(*cut, times_per_task=self.times_per_task)
            tasks = [merge(split)] if self.joint else split
            check_memory(fields, tasks, self.on_disk)
            if self.on_disk:
                irrelevant = self.resumable | self.changeable
                irrelevant |= {"test_locations"} if self.test_locations is None else set()
                options = {name: value for name, value in self.hparams.items() if name not in irrelevant}
                prepared = prepare_on_disk(fields, tasks, split[0].train, options)
            else:
                values = fields.read(0, len(fields.hours))  # faster than task by task
                prepared = prepare(fields, tasks, split[0].train, read=lambda first, before: values[:, first:before])
        self._data = fields, prepared
        num_used = np.count_nonzero(fields.hours < self.begin_of(self.num_parts))
        times = f"{num_used} of {self.num_hours} hours"
        if fields.step != 1 or self.times_per_task is not None:
            times = f"{num_used} times, one every {fields.step:g} hours, in {self.num_hours} hours"
        rank_zero_info(
            f"{self.num_series} series of {self.num_variables} variables, {times} from "
            f"{np.datetime_as_string(fields.origin, unit='m')}, {prepared.observed:.1%} of the values observed."
        )

    @property
    def held_out_locations(self) -> Tensor | None:
        """Which locations are held out `[S]`; None if `test_locations` is not given."""
        held_out = self.fields.held_out
        return None if held_out is None else torch.from_numpy(held_out)

    def go_on(self, continuation: Continuation) -> None:
        """Go on with new hours, instead of reading the whole stream.

        Args:
            continuation: The new hours, and what is known of the stream.
        """
        if self.joint:
            raise ValueError("The run has learnt all its tasks at once (joint), so it cannot go on with a new one.")
        if self.times_per_task is not None:
            raise ValueError("Tasks by times_per_task need all earlier data: use `gpvae fit --ckpt_path last`.")
        self._continuation, self._data = continuation, None
        self.num_parts = self._num_tasks = continuation.num_tasks
        self.stop_after = None
        self.scores_all_tasks = not continuation.absent

    def describe(self) -> dict[str, Any]:
        """What predictions need to know, see `SeriesDescription`; empty until `setup`."""
        return {} if self._data is None else self.description.to_plain()

    @property
    def description(self) -> SeriesDescription:
        """The stream without its values."""
        fields, prepared = self._ready()
        if self._continuation is not None:
            return self._continuation.describe(prepared)
        names: dict[str, Any] = {"name": type(self).__name__, "synthetic": self.synthetic}
        sizes, begins = prepared.sizes, self._task_begins()
        return SeriesDescription.of(fields, prepared.scaling, self.hours_per_task, sizes, begins, **names)

    def _task_begins(self) -> tuple[float, ...]:
        """The hour at which each task begins, and that at which the last one ends."""
        parts = [0, self.num_parts or 1] if self.joint else range(self.num_tasks + 1)
        return tuple(self.task_length.begin_of(part, self.fields) for part in parts)

    @property
    def task_length(self) -> TaskLength:
        """The length of each task."""
        return TaskLength(self.hours_per_task, self.times_per_task)

    @property
    def num_hours(self) -> int:
        """The length of the stream in hours, including missing ones."""
        if self.times_per_task is not None:
            return round(self.begin_of(self.num_parts or self.num_tasks))
        return (self.num_parts or self.num_tasks) * self.hours_per_task

    def begin_of(self, task: int) -> float:
        """The hour at which a task begins; of a task after the last, the hour at which the last one ends.

        Args:
            task: The task, from 0.
        """
        return self.task_length.begin_of(task, self.fields)

    @property
    def planned_length(self) -> float | None:
        """The length of the stream in hours, if the number of tasks is given; None if it may grow with the data."""
        return None if self.hparams["num_tasks"] is None else float(self.num_hours)

    @property
    def num_batches(self) -> int:
        """The number of batches in an epoch, on one device."""
        if self._data is None or self.batch_size is None:
            return 1
        return -(-self.num_series // self.batch_size)

    def task_data(self, task: int) -> TaskValues:
        """All series at the training hours of a task: times `[T]`, y `[S, T, V]` and mask `[S, T, V]`.

        Args:
            task: The task, from 0.
        """
        return self._task(task, self._prepared().train)

    def train_loader(self, task: int, epoch: int, rank: int, world_size: int) -> SeriesLoader:
        """Batches of series at the training hours of a task, see `TaskStream`."""
        min_batches = -(-(self.min_steps_per_task or 1) // self.epochs_per_task)
        options: dict[str, Any] = {"seed": self.seed, "epoch": epoch, "rank": rank, "min_batches": min_batches}
        return SeriesLoader(*self.task_data(task), self.batch_size, shuffle=True, world_size=world_size, **options)

    def preview_loader(self, task: int, rank: int, world_size: int) -> SeriesLoader:
        """Batches of series at the training hours of a task, in order, see `TaskStream`."""
        self._check_shared(world_size)
        return SeriesLoader(*self.task_data(task), EVALUATION_BATCH, rank=rank, world_size=world_size)

    def test_loader(self, task: int, rank: int, world_size: int) -> SeriesLoader:
        """Batches of series at the held-out hours of a task, without held-out locations, see `TaskStream`."""
        return self._test_loader(task, rank, world_size, self.held_out_locations)

    def location_loader(self, task: int, rank: int, world_size: int) -> SeriesLoader:
        """The same for held-out locations only.

        Args:
            task: The task, from 0.
            rank: The rank of this process, from 0.
            world_size: The number of processes that share the series.
        """
        if self.held_out_locations is None:
            raise ValueError("No locations are held out: set test_locations.")
        return self._test_loader(task, rank, world_size, ~self.held_out_locations)

    def _test_loader(self, task: int, rank: int, world_size: int, hidden: Tensor | None) -> SeriesLoader:
        self._check_shared(world_size)
        times, y, mask = self._task(task, self._prepared().test)
        if not len(times):  # the task is not here
            y, mask = y[:0], mask[:0]
        options: dict[str, Any] = {"rank": rank, "world_size": world_size, "allow_empty": not len(times)}
        return SeriesLoader(times, y, mask, EVALUATION_BATCH, hidden=hidden, **options)

    def predict_dataloader(self) -> list[Iterable[Any]]:
        """Series at the times to predict, see `predict_every` and `predict_until`; a loader for each group of times."""
        if self.predict_every is None and self.predict_until is None:
            tasks = [self._task(task, self._prepared().test) for task in range(len(self._prepared().test))]
            parts = [task for task in tasks if len(task.times)]  # those that are here
        else:
            groups = group_times(self._times_to_predict(), self._task_begins())
            parts = [unobserved(times, self.num_series, self.num_variables) for times in groups]
        rank, world_size = self._process()
        self._check_shared(world_size)
        return [prediction_loader(part, rank, world_size) for part in parts]

    def _times_to_predict(self) -> Tensor:
        (fields, prepared), learnt = self._ready(), self.num_learnt - 1
        last = max(float(part[learnt].times[-1]) for part in (prepared.train, prepared.test))
        return prediction_times(last, fields.step, fields.origin, every=self.predict_every, until=self.predict_until)

    def _check_shared(self, world_size: int) -> None:
        if self.num_series < world_size:
            raise ValueError(  # Lightning would skip evaluation there, and hang
                f"{self.num_series} series cannot be shared by {world_size} processes: use fewer devices, or raise "
                "points."
            )

    def _task(self, task: int, parts: list[TaskValues]) -> TaskValues:
        if not 0 <= task < len(parts):
            raise ValueError(f"There is no task {task}: tasks are numbered from 0 to {len(parts) - 1}.")
        self._prepared().verify(task)
        return parts[task]
