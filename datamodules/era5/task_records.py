"""What is known of the tasks in a folder of prepared values: which values they were made from."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

RECORDS = "scaling.pt"  # the name of the file


class Record(NamedTuple):
    """What a task in files was made from.

    Args:
        hours: A digest of its training and held-out hours.
        values: A digest of its values, in the units of files.
        sources: A digest of names, sizes and dates of the files that had these values when they were last read.
        counts: How many values of each variable it has, observed ones and all `[2, V]`.
    """

    hours: str
    values: str
    sources: str
    counts: list[list[int]]


def digest(*parts: str | NDArray[np.generic]) -> str:
    """A digest of texts and arrays.

    Args:
        parts: The texts and arrays.
    """
    total = hashlib.sha256()
    for part in parts:
        total.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes())
    return total.hexdigest()[:32]


def save_records(path: Path, mean: Tensor, deviation: Tensor, records: Sequence[Record]) -> None:
    """Save the scaling and the records of all tasks.

    Args:
        path: The file.
        mean: The mean of each series and variable `[S, V]`.
        deviation: The standard deviation of each variable `[V]`.
        records: The records, in order of tasks.
    """
    torch.save({"mean": mean, "deviation": deviation, "tasks": [tuple(record) for record in records]}, path)


def load_records(path: Path) -> tuple[Tensor, Tensor, list[Record]]:
    """Load mean, deviation and the records of all tasks.

    Args:
        path: The file.
    """
    saved = torch.load(path, weights_only=True)
    return saved["mean"], saved["deviation"], [Record(*record) for record in saved["tasks"]]
