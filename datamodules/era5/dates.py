"""Dates that a user gives as text."""

from datetime import UTC, datetime

import numpy as np

from datamodules.era5.files.calendars import YEARS


def parse_date(option: str, text: str, alternative: str = "") -> np.datetime64:
    """A date or an hour in ISO 8601, UTC unless it has an offset; a month or a year is its first hour.

    Args:
        option: The option that it is the value of, for messages.
        text: The text, such as 2020-01-01, 2020-01-01T06:00 or 2020-01-01T06:00+01:00.
        alternative: What may be given instead of a date, for messages.

    Raises:
        ValueError: It is no date, or in a year that is not supported.
    """
    try:
        date = _parse(text)
    except ValueError as error:
        raise ValueError(
            f"{option} is {text!r}: give a date or an hour, such as 2020-01-01 or 2020-01-01T06:00{alternative}."
        ) from error
    year = int(date.astype("datetime64[Y]").astype(np.int64)) + 1970
    if not YEARS[0] <= year <= YEARS[1]:
        raise ValueError(
            f"{option} is {text!r}, in the year {year}: years from {YEARS[0]} to {YEARS[1]} are supported."
        )
    return date


def _parse(text: str) -> np.datetime64:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:  # NumPy also reads a month or a year
        known = np.datetime64(text, "s")
        if np.isnat(known):
            raise ValueError("it is not a time") from None
        return known
    return np.datetime64(date if date.tzinfo is None else date.astimezone(UTC).replace(tzinfo=None), "s")
