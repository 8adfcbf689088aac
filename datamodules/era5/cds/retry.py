"""Deadlines and retries: every wait has an end."""

import time
from collections.abc import Callable
from typing import TypeVar

from lightning.pytorch.utilities import rank_zero_info

from datamodules.era5.cds.errors import DownloadFailed, TransientFailure

TIMEOUT = 60.0  # seconds to wait for the server to send something
MAX_TRIES = 5  # of every call
MAX_SUBMISSIONS = 3  # of every request, if its jobs fail or their files are unusable
FIRST_PAUSE = 15.0  # seconds before the second try; doubled before each further one
POLL_INTERVAL = 1.0  # seconds between the first two queries of a job's state; 1.5 times as long after each
MAX_POLL_INTERVAL = 60.0
MAX_IDLE = 600.0  # seconds to wait for another process of the run that is not downloading yet, or no longer
LOG_INTERVAL = 300.0  # seconds after which an unchanged state is logged again

T = TypeVar("T")


class Deadline:
    """The time by which all downloads must be complete.

    Args:
        hours: Hours from now.
    """

    def __init__(self, hours: float) -> None:
        self.hours = hours
        self._end = time.monotonic() + 3600 * hours

    def check(self) -> None:
        """Raise if the deadline has passed."""
        if self._left() <= 0:
            raise DownloadFailed(
                f"The downloads were not complete within {self.hours:g} hours: run again to resume the jobs in the "
                "queue of the Climate Data Store, or raise download_hours."
            )

    def timeout(self) -> float:
        """The seconds to wait for the server to send something."""
        self.check()
        return min(TIMEOUT, self._left())

    def sleep(self, seconds: float) -> None:
        """Sleep, but not beyond the deadline.

        Args:
            seconds: How long.
        """
        time.sleep(min(seconds, max(self._left(), 0.0)))
        self.check()

    def pause(self, attempt: int) -> None:
        """Wait before another attempt.

        Args:
            attempt: The number of the failed attempt, from 1.
        """
        self.sleep(FIRST_PAUSE * 2 ** (attempt - 1))

    def _left(self) -> float:
        return self._end - time.monotonic()


def with_retries(call: Callable[[int], T], deadline: Deadline) -> T:
    """The result of a call, which is repeated after transient failures.

    Args:
        call: Takes the number of the attempt, from 1.
        deadline: When to stop in any case.
    """
    for attempt in range(1, MAX_TRIES):
        try:
            return call(attempt)
        except TransientFailure as error:
            rank_zero_info(f"{error} Trying again, {attempt + 1} of {MAX_TRIES}.")
        deadline.pause(attempt)
    return call(MAX_TRIES)
