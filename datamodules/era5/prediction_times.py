"""The times that `gpvae predict` predicts: on a grid over the stream, or past its end."""

import math

import numpy as np
import torch
from torch import Tensor

from datamodules.era5.dates import parse_date

SHORTEST = 1 / 3600  # hours: times are whole seconds


def check_options(every: float | None, until: str | float | None) -> None:
    """Raise if an option is invalid.

    Args:
        every: `predict_every`.
        until: `predict_until`.
    """
    if every is not None and not SHORTEST <= every < math.inf:
        raise ValueError(f"predict_every is {every}: it must be a number of hours, such as 0.5, of at least a second.")
    if isinstance(until, str):
        _parse(until)
    elif until is not None and not SHORTEST <= until < math.inf:
        raise ValueError(f"predict_until is {until}: it must be a date, such as 2024-03-07, or hours past the end.")


def prediction_times(
    last: float, step: float, origin: np.datetime64, *, every: float | None, until: str | float | None
) -> Tensor:
    """Hours since the start of the stream `[T]`.

    Args:
        last: The last hour of the tasks learnt.
        step: The hours from one time of the files to the next.
        origin: The start of the stream.
        every: Hours between times, from the start of the stream; if not given, one time every `step` after the last.
        until: The last time, as a date, or as hours after the last hour learnt; if not given, the last hour learnt.
    """
    end = last if until is None else _hours(until, origin, last)
    if until is not None and end <= last:
        known = np.datetime_as_string(origin + np.timedelta64(round(3600 * last), "s"), unit="m")
        raise ValueError(f"predict_until is {until}, and the stream is learnt up to {known}: give a later time.")
    seconds = round(3600 * (step if every is None else every))  # so that a third of an hour is twenty minutes
    start = 0.0 if every is not None else last + seconds / 3600
    count = math.floor(3600 * (end - start) / seconds + 1e-9) + 1
    if count < 1:
        raise ValueError(
            f"predict_until is {until}, less than one time step of the files, {step:g} h, after the last time learnt: "
            "give a later time, or predict_every."
        )
    return start + torch.arange(count, dtype=torch.float64) * seconds / 3600


def _hours(until: str | float, origin: np.datetime64, last: float) -> float:
    return float((_parse(until) - origin) / np.timedelta64(1, "h")) if isinstance(until, str) else last + until


def _parse(until: str) -> np.datetime64:
    return parse_date("predict_until", until, ", or a number of hours past the end, such as 72")
