"""Digests of the values of a task by hour and by variable, which show what has changed since they were learnt."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Words = NDArray[np.uint64]
VALUES_AT_ONCE = 2**20  # mixed together: some 30 MB
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Digest(NamedTuple):
    """Digests of the values of one task of T hours; empty if its data are not available.

    A location enters by its number and an hour by its time, so digests depend neither on formats nor on the order of
    files, hours or sums. A changed value goes unnoticed once in 2⁶⁴ times, unless it is made to.

    Args:
        hours: Hours since the start of the stream `[T]`.
        preliminary: Which of them were preliminary (ERA5T) `[T]`.
        by_hour: A digest of all values of each hour `[T]`, int64.
        by_variable: A digest of all values of each variable `[V]`, int64.
    """

    hours: Tensor
    preliminary: Tensor
    by_hour: Tensor
    by_variable: Tensor

    @classmethod
    def of(cls, values: NDArray[np.float32], hours: NDArray[np.float64], preliminary: NDArray[np.bool_]) -> "Digest":
        """The digests of values.

        Args:
            values: All values in the units of files `[S, T, V]`; NaN where they are missing.
            hours: Their hours `[T]`.
            preliminary: Which of these are preliminary `[T]`.
        """
        _, num_hours, num_variables = values.shape
        total = np.zeros((num_hours, num_variables), np.uint64)
        at_once = max(1, VALUES_AT_ONCE // max(1, total.size))
        for first in range(0, len(values), at_once):
            some = values[first : first + at_once] + np.float32(0)  # -0 becomes 0
            some[np.isnan(some)] = np.nan  # one of the many bit patterns of NaN
            words = some.view(np.uint32).astype(np.uint64)
            words |= np.arange(first, first + len(some), dtype=np.uint64)[:, None, None] << np.uint64(32)
            total += _mixed(words).sum(axis=0, dtype=np.uint64)
        times = _mixed(hours.astype(np.float64).view(np.uint64))[:, None]
        by_hour = _mixed(total ^ _mixed(np.arange(num_variables, dtype=np.uint64))).sum(axis=1, dtype=np.uint64)
        by_variable = _mixed(total ^ times).sum(axis=0, dtype=np.uint64)
        sums = (torch.from_numpy(part.view(np.int64)) for part in (by_hour, by_variable))
        return cls(torch.from_numpy(hours.copy()), torch.from_numpy(preliminary.copy()), *sums)

    def same_values(self, other: "Digest") -> bool:
        """Whether the values of another digest, by hour and by variable, are the same."""
        pairs = zip((self.hours, *self[2:]), (other.hours, *other[2:]), strict=True)
        return all(torch.equal(own, others) for own, others in pairs)

    @property
    def is_known(self) -> bool:
        """Whether the data of the task were available."""
        return len(self.hours) > 0

    def describe_changes(self, before: "Digest", names: Sequence[str], origin: np.datetime64) -> str:
        """Changes since values were learnt: variables, hours, and whether these were preliminary; empty if none.

        Args:
            before: The digests of the values that were learnt.
            names: The names of the variables.
            origin: The time of hour 0.
        """
        old, new = (dict(zip(one.hours.tolist(), one.by_hour.tolist(), strict=True)) for one in (before, self))
        changed = sorted(hour for hour in old.keys() | new.keys() if old.get(hour) != new.get(hour))
        if not changed:
            return ""
        pairs = zip(names, (before.by_variable != self.by_variable).tolist(), strict=True)
        variables = [name for name, differs in pairs if differs]
        listed = "all variables" if len(variables) == len(names) > 1 else ", ".join(variables)
        ends = [origin + np.timedelta64(round(3600 * hour), "s") for hour in (changed[0], changed[-1])]
        first, last = np.datetime_as_string(ends, unit="m")
        when = f"at {first}" if len(changed) == 1 else f"at {len(changed)} of {len(old)} hours from {first} to {last}"
        moved = len(old.keys() - new.keys()), len(new.keys() - old.keys())
        others = "".join(
            f", {count} of them {how}" for count, how in zip(moved, ("missing", "new"), strict=True) if count
        )
        return f"{listed} {when}{others}; {_cause(changed, before)}"


def _cause(changed: Sequence[float], before: Digest) -> str:
    revised = set(before.hours[before.preliminary].tolist()).intersection(changed)
    if len(revised) == len(changed):
        return "preliminary (ERA5T) when it was learnt, so this may be the final version of ERA5"
    some = f"{len(revised)} preliminary (ERA5T) and {len(changed) - len(revised)} " if revised else ""
    return f"{some}not preliminary when learnt, so a file is damaged or was replaced"


def to_plain(digests: Sequence[Digest]) -> dict[str, Tensor]:
    """The digests of all tasks as a few tensors, for checkpoints.

    Args:
        digests: At least one.
    """
    hours, preliminary, by_hour = (torch.cat(list(part)) for part in list(zip(*digests, strict=True))[:3])
    sizes = torch.tensor([len(one.hours) for one in digests])
    by_variable = torch.stack([one.by_variable for one in digests])
    return {
        "sizes": sizes, "hours": hours, "preliminary": preliminary, "by_hour": by_hour, "by_variable": by_variable,
    }  # fmt: skip


def from_plain(plain: Mapping[str, Any]) -> list[Digest]:
    """The digests from the result of `to_plain`.

    Args:
        plain: Its result.

    Raises:
        ValueError: It is not such a result.
    """
    try:
        sizes = plain["sizes"].tolist()
        parts = (plain[name].split(sizes) for name in ("hours", "preliminary", "by_hour"))
        return [Digest(*one) for one in zip(*parts, plain["by_variable"], strict=True)]
    except (KeyError, AttributeError, TypeError, RuntimeError, ValueError) as error:
        raise ValueError(f"the digests of the data in the checkpoint are damaged: {error!r}") from error


def _mixed(words: Words) -> Words:
    """The finaliser of splitmix64, which is one to one."""
    words = words + GOLDEN
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return words
