"""The tasks of a stream on the scale of the model, in memory or in files that are mapped into it."""

import hashlib
import json
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
from datamodules.era5.split import TaskHours
from datamodules.era5.variables import check_observed
from gpvae.utils.atomic import creating_folder, remove_abandoned
from gpvae.utils.locks import excludes_others, exclusive
from gpvae.utils.row_store import Files, Memory, Place, fill

FOLDER = "era5_on_disk"


class TaskValues(NamedTuple):
    """The values of all S series at some hours of a task; times `[T]`, y and mask `[S, T, V]` as in `SeriesBatch`."""

    times: Tensor
    y: Tensor
    mask: Tensor


@dataclass(frozen=True)
class Prepared:
    """A stream that is ready to be learnt.

    Args:
        scaling: How values were scaled.
        train: Of each task, the hours to learn from.
        test: Of each task, the hours held out.
        observed: Which share of all values is.
    """

    scaling: Scaling
    train: list[TaskValues]
    test: list[TaskValues]
    observed: float


def prepare(
    fields: Fields,
    tasks: Sequence[TaskHours],
    first: NDArray[np.int64],
    between: Callable[[int, int], Values] | None = None,
    place: Place | None = None,
) -> Prepared:
    """Scale the values of all tasks, one after the other.

    Args:
        fields: What the stream is made of.
        tasks: Its tasks.
        first: The hours, of the first task, by which values are standardised.
        between: Gives the values between two places in the hours; those of the fields if not given.
        place: Where to keep what comes of them; in memory if not given.
    """
    between, place, scaling = between or fields.between, place or Memory(), None
    series, seen = torch.arange(len(fields.latitude)), torch.zeros(2, len(fields.variables), dtype=torch.int64)
    parts: dict[str, list[TaskValues]] = {"train": [], "test": []}
    for number, task in enumerate(tasks):
        begin = task.first
        values = torch.from_numpy(between(begin, task.last + 1))
        mask = values.isfinite()
        seen += torch.stack([mask.sum((0, 1)), torch.full_like(seen[1], mask[..., 0].numel())])
        if scaling is None:
            hours = torch.from_numpy(first - begin)
            scaling = Scaling.of(fields.variables, values[:, hours], mask[:, hours])
        for name, places in task._asdict().items():
            hours = torch.from_numpy(places - begin)
            y, observed = fill(
                place, _names(name, number), series, SERIES_AT_ONCE, _scaled(scaling, values[:, hours], mask[:, hours])
            )
            parts[name].append(TaskValues(torch.from_numpy(fields.hours[places]), y, observed))
    check_observed(fields.variables, (seen[0] > 0).tolist())
    assert scaling is not None
    return Prepared(scaling, parts["train"], parts["test"], float(seen[0].sum() / seen[1].sum()))


def _scaled(scaling: Scaling, values: Tensor, mask: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """Gives the values of some series on the scale of the model, 0 where there are none, and where there are some."""
    return lambda some: (scaling.to_model(values[some], some).where(mask[some], 0.0).float(), mask[some])


def prepare_on_disk(
    fields: Fields, tasks: Sequence[TaskHours], first: NDArray[np.int64], options: dict[str, object]
) -> Prepared:
    """The same in files of the data folder, made now or kept from an earlier run; memory holds a task at a time.

    Args:
        fields: What the stream is made of.
        tasks: Its tasks.
        first: The hours, of the first task, by which values are standardised.
        options: Whatever else the result depends on.
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
            rank_zero_info(f"Writing the values of all tasks to {folder}, {size:.3g} GB; later runs find them there.")
            with creating_folder(folder) as temporary:
                made = prepare(fields, tasks, first, place=Files(temporary))
                kept = {"mean": made.scaling.mean, "deviation": made.scaling.deviation, "observed": made.observed}
                torch.save(kept, temporary / "scaling.pt")
    return _opened(folder, fields, tasks)


def _names(part: str, task: int) -> list[str]:
    """What the values of a part of a task, and where they are observed, are called."""
    return [f"{part}_{task:02d}_{kind}" for kind in ("y", "mask")]


def _opened(folder: Path, fields: Fields, tasks: Sequence[TaskHours]) -> Prepared:
    kept = torch.load(folder / "scaling.pt", weights_only=True)
    files = Files(folder)
    parts: dict[str, list[TaskValues]] = {"train": [], "test": []}
    for number, task in enumerate(tasks):
        for name, places in task._asdict().items():
            shape, kinds = (len(fields.latitude), len(places), len(fields.variables)), (torch.float32, torch.bool)
            try:
                y, mask = (
                    files.open(file, shape, kind) for file, kind in zip(_names(name, number), kinds, strict=True)
                )
            except FileNotFoundError as error:
                raise FileNotFoundError(f"{error}: remove {folder}, and it is made again") from error
            parts[name].append(TaskValues(torch.from_numpy(fields.hours[places]), y, mask))
    scaling = Scaling(fields.variables, kept["mean"], kept["deviation"])
    return Prepared(scaling, parts["train"], parts["test"], kept["observed"])
