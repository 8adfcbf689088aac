"""What is known of the tasks in a folder of prepared values: which values they were made from."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.era5.value_digests import Digest
from gpvae.utils.checksums import check_archive

NO_DIGEST = Digest(*(torch.empty(0),) * 4)
RECORDS = "scaling.pt"  # the name of the file


class Record(NamedTuple):
    """What a task in files was made from.

    Args:
        hours: A digest of its training and held-out hours.
        sources: A digest of names, sizes and dates of the files that had these values when they were last read.
        counts: How many values of each variable it has, observed ones and all `[2, V]`.
        digest: The digests of its values in the units of files, by hour and by variable.
        checksums: The checksums of its files, by name; none in folders of earlier versions, which are written again.
    """

    hours: str
    sources: str
    counts: list[list[int]]
    digest: Digest = NO_DIGEST
    checksums: dict[str, int] = {}  # noqa: RUF012  # never changed


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
    plain = [tuple(record._replace(digest=tuple(record.digest))) for record in records]  # type: ignore[arg-type]
    torch.save({"mean": mean, "deviation": deviation, "tasks": plain}, path)


def load_records(path: Path) -> tuple[Tensor, Tensor, list[Record]]:
    """Load mean, deviation and the records of all tasks.

    Args:
        path: The file.

    Raises:
        ValueError: It is damaged.
    """
    try:
        check_archive(path)
        saved = torch.load(path, weights_only=True)
        records = [Record(*_without_former(record)) for record in saved["tasks"]]
        return saved["mean"], saved["deviation"], [one._replace(digest=Digest(*one.digest)) for one in records]
    except Exception as error:  # a damaged file can raise anything
        raise ValueError(f"{path} is damaged: remove {path.parent}, and it is created again") from error


def _without_former(record: Sequence[Any]) -> Sequence[Any]:
    """A saved record, without the second digest of values that those of earlier versions have."""
    return [record[0], *record[2:]] if isinstance(record[2], str) else record
