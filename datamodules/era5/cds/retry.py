"""How long to wait for what: nothing here goes on for ever."""

import time
from collections.abc import Callable
from typing import TypeVar

from lightning.pytorch.utilities import rank_zero_info

from datamodules.era5.cds.errors import DownloadFailed, Passing

TIMEOUT = 60.0  # seconds until the server says something
TRIES = 5  # of every call
SUBMISSIONS = 3  # of every request, if its jobs fail or their files are of no use
PAUSE = 15.0  # seconds before the second try; twice as long before each further one
POLL = 1.0  # seconds until the state of a job is asked for again, half as long again every time
LONGEST_POLL = 60.0
APART = 600.0  # seconds by which the processes of a run may start one after the other
TELL_EVERY = 300.0  # seconds without news, after which the state is told again

T = TypeVar("T")


class Deadline:
    """The time by which all downloads must be done.

    Args:
        hours: From now.
    """

    def __init__(self, hours: float) -> None:
        self.hours = hours
        self._end = time.monotonic() + 3600 * hours

    def check(self) -> None:
        """Raise if it is over."""
        if self._left() <= 0:
            raise DownloadFailed(
                f"The downloads were not done within {self.hours:g} hours: run again to go on with the jobs that are "
                "in the queue of the Climate Data Store, or set download_hours to more."
            )

    def timeout(self) -> float:
        """How many seconds a server may take to say something."""
        self.check()
        return min(TIMEOUT, self._left())

    def sleep(self, seconds: float) -> None:
        """Do nothing for a while, but not for longer than there is.

        Args:
            seconds: How long.
        """
        time.sleep(min(seconds, max(self._left(), 0.0)))
        self.check()

    def pause(self, attempt: int) -> None:
        """Wait before another attempt.

        Args:
            attempt: The number of the one that has failed, from 1.
        """
        self.sleep(PAUSE * 2 ** (attempt - 1))

    def _left(self) -> float:
        return self._end - time.monotonic()


def again_and_again(call: Callable[[int], T], deadline: Deadline) -> T:
    """What a call gives, tried some times as long as there is hope.

    Args:
        call: Takes the number of the attempt, from 1.
        deadline: When to stop in any case.
    """
    for attempt in range(1, TRIES):
        try:
            return call(attempt)
        except Passing as error:
            rank_zero_info(f"{error} Trying again, {attempt + 1} of {TRIES}.")
        deadline.pause(attempt)
    return call(TRIES)
