"""The values of all tasks in memory-mapped files, which later runs reuse and add to."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray

from datamodules.data_folder import writable_folder
from datamodules.era5.fields import Fields
from datamodules.era5.prepared import (
    Prepared,
    TaskHours,
    TaskValues,
    checked,
    count_values,
    digest_of,
    file_names,
    prepare,
    scale_task,
)
from datamodules.era5.scaling import Scaling
from datamodules.era5.screening import Screen
from datamodules.era5.task_records import RECORDS, Record, digest, load_records, save_records
from gpvae.utils.atomic import creating_folder, remove_abandoned, replacing
from gpvae.utils.checksums import checksum
from gpvae.utils.locks import excludes_others, exclusive
from gpvae.utils.row_store import Files

FOLDER = "era5_on_disk"


def prepare_on_disk(
    fields: Fields, tasks: Sequence[TaskHours], first: NDArray[np.int64], options: dict[str, object]
) -> Prepared:
    """As `prepare`, with the result in files that later runs reuse; memory holds one task at a time.

    If there are more tasks later, only these are written, and those whose values have changed.

    Args:
        fields: The data of the stream.
        tasks: The hours of its tasks.
        first: The hours of the first task that set the scale.
        options: Everything else that the result depends on.
    """
    about = json.dumps(
        [options, [v.short_name for v in fields.variables], str(fields.origin)], default=str, sort_keys=True
    )
    beginning = fields.read(tasks[0].first, tasks[0].last + 1)
    parent = writable_folder(FOLDER)
    folder = parent / digest(about, fields.latitude, fields.longitude, *tasks[0], beginning)
    lock = parent / f"{folder.name}.lock"
    with exclusive(lock, f"the data of this stream are being written to {folder}"):
        remove_abandoned(folder, exclusive=excludes_others(lock))
        if folder.exists():
            _update(folder, fields, tasks)
        else:
            _create(folder, fields, tasks, first)
        return _open(folder, fields, tasks)


def _create(folder: Path, fields: Fields, tasks: Sequence[TaskHours], first: NDArray[np.int64]) -> None:
    """Write all tasks to a new folder."""
    _log_writing("the values of all tasks", folder, fields, len(fields.hours))
    with creating_folder(folder) as temporary:
        prepared = prepare(fields, tasks, first, store=Files(temporary))
        records = [
            Record(
                _hours(fields, task),
                digest(*fields.sources),
                prepared.counts[number].tolist(),
                prepared.digests[number],
                _checksums(number, {"train": prepared.train[number], "test": prepared.test[number]}),
            )
            for number, task in enumerate(tasks)
        ]
        save_records(temporary / RECORDS, prepared.scaling.mean, prepared.scaling.deviation, records)


def _update(folder: Path, fields: Fields, tasks: Sequence[TaskHours]) -> None:
    """Write the tasks that a folder does not have yet, and those whose values have changed since.

    Values are read again only if the files are not the same as before. Until a task is complete, the folder has no
    record of it, so a run that is killed here leaves nothing wrong behind.
    """
    mean, deviation, records = load_records(folder / RECORDS)
    scaling, store, sources = Scaling(fields.variables, mean, deviation), Files(folder), digest(*fields.sources)

    def save() -> None:
        store.flush()
        with replacing(folder / RECORDS) as temporary:
            save_records(temporary, mean, deviation, records)

    checked, screen = 0, Screen(fields)
    for number, task in enumerate(tasks):
        known, hours = (records[number] if number < len(records) else None), _hours(fields, task)
        complete = known is not None and bool(known.checksums)
        if known is not None and complete and (known.hours, known.sources) == (hours, sources):
            continue
        values = fields.read(task.first, task.last + 1)
        screened = torch.from_numpy(screen(values, task.first))
        record = Record(hours, sources, count_values(screened).tolist(), digest_of(fields, values, task.first))
        if known is not None and complete and known.hours == hours and known.digest.same_values(record.digest):
            records[number] = record._replace(checksums=known.checksums)
            checked += 1
            continue
        if known is not None:  # the records of this task and of all after it
            del records[number:]
            save()
        _log_writing(f"the values of task {number + 1}", folder, fields, task.last + 1 - task.first)
        parts = scale_task(store, number, task, fields, screened, scaling)
        records.append(record._replace(checksums=_checksums(number, parts)))
        save()
    screen.report()
    if checked:
        save()


def _log_writing(what: str, folder: Path, fields: Fields, num_hours: int) -> None:
    size = 5 * len(fields.latitude) * num_hours * len(fields.variables) / 1e9
    rank_zero_info(f"Writing {what} to {folder}, {size:.3g} GB; later runs reuse them.")


def _checksums(number: int, parts: Mapping[str, TaskValues]) -> dict[str, int]:
    """The checksums of the files of a task, by name."""
    return {
        file: checksum(values)
        for part, (_, *stored) in parts.items()
        for file, values in zip(file_names(part, number), stored, strict=True)
    }


def _hours(fields: Fields, task: TaskHours) -> str:
    """A digest of the hours of a task."""
    return digest(*(fields.hours[indices] for indices in task))


def _open(folder: Path, fields: Fields, tasks: Sequence[TaskHours]) -> Prepared:
    mean, deviation, records = load_records(folder / RECORDS)
    files = Files(folder)
    parts: dict[str, list[TaskValues]] = {"train": [], "test": []}
    for number, task in enumerate(tasks):
        for name, indices in task._asdict().items():
            shape, dtypes = (len(fields.latitude), len(indices), len(fields.variables)), (torch.float32, torch.bool)
            try:
                y, mask = (
                    files.open(file, shape, dtype) for file, dtype in zip(file_names(name, number), dtypes, strict=True)
                )
            except FileNotFoundError as error:
                raise FileNotFoundError(f"{error}: remove {folder}, and it is created again") from error
            parts[name].append(TaskValues(torch.from_numpy(fields.hours[indices]), y, mask))
    counts = torch.tensor([record.counts for record in records[: len(tasks)]])
    digests = [record.digest for record in records[: len(tasks)]]

    @cache  # once in a run, when the values are first needed
    def verify(task: int) -> None:
        stored = _checksums(task, {name: some[task] for name, some in parts.items()})
        damaged = [name for name, value in stored.items() if records[task].checksums[name] != value]
        if damaged:
            raise ValueError(
                f"{files.path(damaged[0])} is damaged: its values are not those that were written. Remove {folder}, "
                "and it is created again."
            )

    scaling = Scaling(fields.variables, mean, deviation)
    return checked(fields, Prepared(scaling, parts["train"], parts["test"], counts, digests, verify))
