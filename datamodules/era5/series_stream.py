"""Streams of many series over common hours: split into tasks, scaled, and loaded in batches of series."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from datamodules.era5.continuation import Continuation
from datamodules.era5.description import Coordinates, SeriesDescription
from datamodules.era5.fields import Fields
from datamodules.era5.loader import SeriesLoader
from datamodules.era5.prediction_times import check_options, prediction_times
from datamodules.era5.prepared import Prepared, TaskValues, merge, prepare, split_hours
from datamodules.era5.prepared_files import prepare_on_disk
from datamodules.era5.times_to_predict import group_times, prediction_loader, unobserved
from datamodules.era5.variables import Variable
from datamodules.stream import TaskStream, check_minimum

EVALUATION_BATCH = 64  # series


class SeriesStream(TaskStream):
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
    ) -> None:
        super().__init__(
            1 if joint and num_tasks else num_tasks, seed=seed, epochs_per_task=epochs_per_task, stop_after=stop_after
        )
        check_minimum(
            hours_per_task=(hours_per_task, 2), batch_size=(batch_size, 1), min_steps_per_task=(min_steps_per_task, 1)
        )
        if not 0 < test_share < 1:
            raise ValueError(f"test_share is {test_share}: it must be between 0 and 1, such as 0.2.")
        check_options(predict_every, predict_until)
        self.hours_per_task, self.test_share, self.batch_size = hours_per_task, test_share, batch_size
        self.min_steps_per_task = min_steps_per_task
        self.predict_every, self.predict_until = predict_every, predict_until
        self.joint, self.num_parts = joint, num_tasks
        self.on_disk = on_disk
        self._data: tuple[Fields, Prepared] | None = None
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
        """Read the values, split them into tasks and scale them, once.

        Args:
            stage: The stage of the trainer; the data do not depend on it.
        """
        if self._data is not None:
            return
        if self._continuation is not None:
            self._data = self._continuation.fields, self._continuation.prepare(self.test_share, self.seed)
            return
        with self.open() as fields:
            if self.num_parts is None:
                self.num_parts = self._count_tasks(fields)
                self._num_tasks = 1 if self.joint else self.num_parts
            split = split_hours(
                fields.hours, self.num_parts, self.hours_per_task, self.test_share, self.seed, fields.step
            )
            tasks = [merge(split)] if self.joint else split
            if self.on_disk:
                irrelevant = self.resumable | self.changeable
                options = {name: value for name, value in self.hparams.items() if name not in irrelevant}
                prepared = prepare_on_disk(fields, tasks, split[0].train, options)
            else:
                values = fields.read(0, len(fields.hours))  # faster than task by task
                prepared = prepare(fields, tasks, split[0].train, read=lambda first, before: values[:, first:before])
        self._data = fields, prepared
        num_used = np.count_nonzero(fields.hours < self.num_hours)
        times = f"{num_used} of {self.num_hours} hours"
        if fields.step != 1:
            times = f"{num_used} times, one every {fields.step:g} hours, in {self.num_hours} hours"
        rank_zero_info(
            f"{self.num_series} series of {self.num_variables} variables, {times} from "
            f"{np.datetime_as_string(fields.origin, unit='m')}, {prepared.observed:.1%} of the values observed."
        )

    def go_on(self, continuation: Continuation) -> None:
        """Go on with new hours, instead of reading the whole stream.

        Args:
            continuation: The new hours, and what is known of the stream.
        """
        if self.joint:
            raise ValueError("The run has learnt all its tasks at once (joint), so it cannot go on with a new one.")
        self._continuation, self._data = continuation, None
        self.num_parts = self._num_tasks = continuation.num_tasks
        self.stop_after = None
        self.scores_all_tasks = not continuation.absent

    def _count_tasks(self, fields: Fields) -> int:
        """The number of whole tasks in the data; the hours after them wait for more data."""
        num_hours = int(fields.hours[-1] + fields.step)
        num_tasks, waiting = divmod(num_hours, self.hours_per_task)
        if num_tasks == 0:
            raise ValueError(
                f"The data span {num_hours} hours, less than one task of {self.hours_per_task} hours: lower "
                "hours_per_task, or add data."
            )
        if waiting:
            rank_zero_info(f"The data make {num_tasks} whole task(s); the last {waiting} hours wait for more data.")
        return num_tasks

    def identity(self) -> dict[str, Any]:
        """Locations, variables, first hour and scale of the first task; empty until `setup`.

        Later values are left out: they may be added or revised.
        """
        if self._data is None:
            return {}
        fields, prepared = self._data
        mean, deviation = prepared.scaling.mean.mean(0), prepared.scaling.deviation
        return {
            "places": torch.from_numpy(np.stack([fields.latitude, fields.longitude])),
            "first hours": str(np.datetime_as_string(fields.origin, unit="m")),
            "variables": ", ".join(variable.short_name for variable in fields.variables),
            "values of the first task": torch.stack([mean / deviation, deviation.log()]),
        }

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
        length = self.num_hours // self.num_tasks
        return SeriesDescription.of(fields, prepared.scaling, length, prepared.sizes, **names)

    @property
    def num_hours(self) -> int:
        """The length of the stream in hours, including missing ones."""
        return (self.num_parts or self.num_tasks) * self.hours_per_task

    @property
    def planned_length(self) -> float | None:
        """The length of the stream in hours, if the number of tasks is given; None if it may grow with the data."""
        return None if self.hparams["num_tasks"] is None else float(self.num_hours)

    @property
    def num_series(self) -> int:
        """S, the number of locations."""
        return len(self.fields.latitude)

    @property
    def num_variables(self) -> int:
        """V, the number of variables."""
        return len(self.variables)

    @property
    def variables(self) -> list[Variable]:
        """The variables, in the order of the last dimension of y."""
        return list(self.fields.variables)

    @property
    def units(self) -> list[str]:
        """The units of the variables, as in files and as `to_physical` gives them."""
        return [variable.units for variable in self.variables]

    @property
    def coordinates(self) -> Coordinates:
        """The locations of the series, and the time of hour 0."""
        return self.fields.coordinates

    @property
    def file_coordinates(self) -> Coordinates:
        """As `coordinates`, with latitudes and longitudes exactly as in the files, for output beside these."""
        return self.fields.exact_coordinates

    @property
    def synthetic(self) -> bool:
        """Whether the data are synthetic, which results should state."""
        return False

    @property
    def num_batches(self) -> int:
        """The number of batches in an epoch, on one device."""
        if self._data is None or self.batch_size is None:
            return 1
        return -(-self.num_series // self.batch_size)

    def to_physical(self, values: Tensor, series: Tensor) -> Tensor:
        """Values in the units of files; monotone, so quantiles stay quantiles.

        Args:
            values: On the scale of the model `[..., B, T, V]`: means, samples or quantiles, not deviations.
            series: Which series these are `[B]`.
        """
        return self._prepared().scaling.to_physical(values, series)

    def calendar(self, times: Tensor) -> tuple[Tensor, Tensor]:
        """Hour of the day, 0 to 23, and month, 1 to 12, UTC, of hours since the start of the stream `[T]`.

        Args:
            times: The hours.
        """
        hours = self.fields.origin.astype("datetime64[s]") + (3600 * times.cpu().numpy()).round().astype(
            "timedelta64[s]"
        )
        months = hours.astype("datetime64[M]").astype(np.int64) % 12 + 1
        hour_of_day = hours.astype("datetime64[h]").astype(np.int64) % 24
        return torch.from_numpy(hour_of_day), torch.from_numpy(months)

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
        """Batches of series at the held-out hours of a task, see `TaskStream`."""
        self._check_shared(world_size)
        times, y, mask = self._task(task, self._prepared().test)
        if not len(times):  # the task is not here
            y, mask = y[:0], mask[:0]
        options: dict[str, Any] = {"rank": rank, "world_size": world_size, "allow_empty": not len(times)}
        return SeriesLoader(times, y, mask, EVALUATION_BATCH, **options)

    def predict_dataloader(self) -> list[Iterable[Any]]:
        """Series at the times to predict, see `predict_every` and `predict_until`; a loader for each group of times."""
        if self.predict_every is None and self.predict_until is None:
            parts = list(self._prepared().test)
        else:
            groups = group_times(self._times_to_predict(), self.num_hours / self.num_tasks)
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

    @property
    def fields(self) -> Fields:
        """The data of the stream, in the units of files."""
        return self._ready()[0]

    def _prepared(self) -> Prepared:
        return self._ready()[1]

    def _ready(self) -> tuple[Fields, Prepared]:
        if self._data is None:
            raise RuntimeError("The data are not read yet: call setup() first, or let the trainer call it.")
        return self._data

    def _task(self, task: int, parts: list[TaskValues]) -> TaskValues:
        if not 0 <= task < len(parts):
            raise ValueError(f"There is no task {task}: tasks are numbered from 0 to {len(parts) - 1}.")
        return parts[task]
