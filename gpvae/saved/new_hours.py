"""New hours of a run, beside those that it has learnt."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from lightning.pytorch.utilities import rank_zero_info

from datamodules.era5 import ERA5, SeriesDescription, SeriesStream
from datamodules.era5.continuation import Continuation, join_fields
from datamodules.era5.fields import Fields, open_fields

NewData = xr.Dataset | str | Path | Sequence[str | Path]


def new_fields(pieces: Sequence[NewData], known: SeriesDescription) -> Fields:
    """The values of new data at the variables and locations of a run, in its units, in memory.

    Args:
        pieces: Datasets, or names of files; where an hour is in several, the first counts.
        known: What is known of the stream of the run.

    Raises:
        ValueError: A variable or location is missing, or units cannot be converted.
    """
    parts = []
    for piece in pieces:
        if not isinstance(piece, xr.Dataset | str | Path | Sequence):
            raise TypeError(f"new data are a dataset of xarray, or names of files; got {type(piece).__name__}")
        names = piece if isinstance(piece, xr.Dataset) else _names(piece)
        with open_fields(names, None, None, None, like=known) as fields:
            parts.append(join_fields([fields]))
    return join_fields(parts)


def with_earlier(new: Fields, stream: SeriesStream, known: SeriesDescription) -> Fields:
    """New hours, and those of the run's own data up to the last of them, if these can be read.

    Args:
        new: The new hours.
        stream: The stream as configured.
        known: What is known of it.
    """
    try:
        if not isinstance(stream, ERA5):
            raise TypeError(f"{type(stream).__name__} reads whole streams only")
        earlier = stream.read_known(known)
    except Exception as error:  # whatever is wrong with data that are not needed
        rank_zero_info(f"Earlier tasks are not scored again, because their data cannot be read: {error}")
        return new
    joined = join_fields([earlier, new])
    count = int(np.searchsorted(joined.hours, new.hours[-1], side="right"))
    return Fields(**{**vars(joined), "hours": joined.hours[:count]})


def check_gap(continuation: Continuation) -> None:
    """Raise if a new task has no hours at all, because data before the last ones are missing; say so if it has fewer.

    Args:
        continuation: The new hours, and what is known.
    """
    known, gap = continuation.known, continuation.longest_gap()
    if gap is None:
        return
    ends = [known.coordinates.origin + np.timedelta64(round(3600 * hour), "s") for hour in gap]
    begin, end = np.datetime_as_string(ends, unit="m")
    if gap[1] - gap[0] > known.hours_per_task - 2 * known.step:
        raise ValueError(
            f"there are no data from {begin} to {end}, which come before the new ones: give these hours too"
        )
    rank_zero_info(f"Hours are missing in the new data, from {begin} to {end} and perhaps elsewhere.")


def _names(piece: str | Path | Sequence[str | Path]) -> list[str]:
    return [str(piece)] if isinstance(piece, str | Path) else [str(path) for path in piece]
