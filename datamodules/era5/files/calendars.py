"""Dates of any calendar as dates of the standard one."""

import numpy as np
from numpy.typing import NDArray

Dates = NDArray[np.datetime64]
YEARS = (1678, 2261)  # whole years that nanoseconds in 64 bits can tell


def to_standard_calendar(times: NDArray[np.generic], name: str) -> tuple[Dates, NDArray[np.int64]]:
    """Times as dates of the standard calendar, and the indices of those that have one.

    A date keeps its label: 1 March of a calendar without leap years is 1 March, and 29 February is missing, as any gap
    in a file. So the hour of the day and the season stay what they are. Dates that the standard calendar does not have,
    such as 30 February of a calendar with 360 days, are left out.

    Args:
        times: datetime64, or dates of cftime `[T]`.
        name: The name of the file in messages.

    Raises:
        ValueError: A year is outside of what can be represented.
    """
    if times.dtype.kind == "M":
        years = times.astype("datetime64[Y]").astype(np.int64) + 1970
        known = ~np.isnat(times)
        _check_years(years[known], name)
        return times.astype("datetime64[ns]"), np.arange(len(times))
    _check_years(np.array([date.year for date in times]), name)
    dates, kept = [], []
    for number, date in enumerate(times):
        try:
            dates.append(np.datetime64(date.isoformat(), "ns"))
        except ValueError:
            continue
        kept.append(number)
    return np.array(dates, dtype="datetime64[ns]"), np.array(kept, dtype=np.int64)


def _check_years(years: NDArray[np.int64], name: str) -> None:
    if len(years) and not (YEARS[0] <= years.min() and years.max() <= YEARS[1]):
        raise ValueError(
            f"The times of {name} are in the years {years.min()} to {years.max()}: years from {YEARS[0]} to {YEARS[1]} "
            "are supported. Shift them, or download the file again."
        )
