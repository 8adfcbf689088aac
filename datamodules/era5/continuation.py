"""A stream that goes on with new hours, perhaps without the data of tasks that were learnt before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from datamodules.era5.description import SeriesDescription
from datamodules.era5.fields import Fields
from datamodules.era5.files.layouts import PRELIMINARY
from datamodules.era5.prepared import Prepared, prepare, split_hours


def join_fields(parts: Sequence[Fields]) -> Fields:
    """The values of several parts of a stream, in memory; where an hour is in several, those of the first.

    Args:
        parts: At least one, all of the same variables and locations, from the same origin on.
    """
    hours = np.unique(np.concatenate([part.hours for part in parts]))
    first = parts[0]
    values = np.full((len(first.latitude), len(hours), len(first.variables)), np.nan, dtype=np.float32)
    preliminary = np.zeros(len(hours), bool)
    for part in reversed(parts):
        index, new = np.searchsorted(hours, part.hours), part.read(0, len(part.hours))
        values[:, index] = np.where(np.isnan(new), values[:, index], new)
        preliminary[index] = part.preliminary(0, len(part.hours))
    return replace(
        first,
        read=lambda begin, end: values[:, begin:end],
        hours=hours,
        sources=(),
        file_hours=None,
        preliminary=lambda begin, end: preliminary[begin:end],
    )


@dataclass(frozen=True, eq=False)
class Continuation:
    """New hours of a stream, and what is known of it.

    The scale is the known one, and tasks are counted from the known origin. Tasks that were learnt are left out, unless
    all of their hours are here: then they can be scored again.

    Args:
        known: What is known of the stream.
        num_learnt: The number of tasks that were learnt.
        fields: The hours that are here, of the variables and locations that are known.
    """

    known: SeriesDescription
    num_learnt: int
    fields: Fields

    @property
    def num_tasks(self) -> int:
        """The number of tasks that were learnt or are whole now."""
        last = self.fields.hours[-1] + self.known.step
        return max(self.num_learnt, int(last) // self.known.hours_per_task)

    @property
    def end(self) -> np.datetime64:
        """The end of the last whole task."""
        return self.known.coordinates.origin + np.timedelta64(self.num_tasks * self.known.hours_per_task, "h")

    @property
    def absent(self) -> frozenset[int]:
        """The learnt tasks of which hours are missing here."""
        tasks, counts = np.unique(self.fields.hours // self.known.hours_per_task, return_counts=True)
        here = dict(zip(tasks.tolist(), counts.tolist(), strict=True))
        sizes = self.known.task_sizes[: self.num_learnt]
        return frozenset(task for task, size in enumerate(sizes) if here.get(task) != size)

    def longest_gap(self) -> tuple[float, float] | None:
        """The begin and end, in hours, of the longest gap in the new tasks; None if no time is missing there."""
        begin, end = (count * self.known.hours_per_task for count in (self.num_learnt, self.num_tasks))
        new = self.fields.hours[(self.fields.hours >= begin) & (self.fields.hours < end)]
        edges = np.concatenate([[begin - self.known.step], new, [end]])
        longest = int(np.diff(edges).argmax())
        gap = float(edges[longest] + self.known.step), float(edges[longest + 1])
        return gap if gap[1] - gap[0] >= self.known.step else None

    def prepare(self, test_share: float, seed: int) -> Prepared:
        """The values of all tasks on the known scale; those of absent tasks are empty.

        Args:
            test_share: The fraction of the hours of each task that is held out.
            seed: Fixes which.
        """
        known = self.known
        tasks = split_hours(
            self.fields.hours, self.num_tasks, known.hours_per_task, test_share, seed, known.step, absent=self.absent
        )
        return prepare(self.fields, tasks, scaling=known.scaling)

    def describe(self, prepared: Prepared) -> SeriesDescription:
        """What is known of the stream now.

        Args:
            prepared: The result of `prepare`.
        """
        sizes = *self.known.task_sizes[: self.num_learnt], *prepared.sizes[self.num_learnt :]
        begins = tuple(float(task * self.known.hours_per_task) for task in range(self.num_tasks + 1))
        return replace(self.known, task_sizes=sizes, task_begins=begins)

    def waiting(self) -> xr.Dataset | None:
        """The hours after the last whole task, as a dataset that can be given again; None if there are none."""
        chosen = np.flatnonzero(self.fields.hours >= self.num_tasks * self.known.hours_per_task)
        if not len(chosen):
            return None
        first, before = int(chosen[0]), int(chosen[-1]) + 1
        values, preliminary = self.fields.read(first, before), self.fields.preliminary(first, before)
        versions = {"expver": ("time", np.where(preliminary, PRELIMINARY, 1))} if preliminary.any() else {}
        latitude, longitude, origin = self.known.file_coordinates
        return xr.Dataset(
            {
                variable.short_name: (
                    ("time", "location"),
                    np.ascontiguousarray(values[..., number].T),
                    {"units": variable.units, "long_name": variable.name},
                )
                for number, variable in enumerate(self.known.variables)
            },
            {
                "time": _times(origin, self.fields.hours[chosen]),
                "latitude": ("location", latitude),
                "longitude": ("location", longitude),
                **versions,
            },
        )


def _times(origin: np.datetime64, hours: NDArray[np.float64]) -> NDArray[np.datetime64]:
    return origin.astype("datetime64[ns]") + (3_600_000 * hours).round().astype("timedelta64[ms]")
