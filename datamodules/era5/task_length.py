"""The length of the tasks of a stream: by hours, or by the number of times."""

from typing import NamedTuple

from lightning.pytorch.utilities import rank_zero_info

from datamodules.era5.fields import Fields


class TaskLength(NamedTuple):
    """The length of every task.

    Args:
        hours: In hours, including missing ones.
        times: In times; takes precedence over `hours`.
    """

    hours: int
    times: int | None = None

    def count(self, fields: Fields) -> int:
        """The number of whole tasks in the data; what is after them waits for more data.

        Args:
            fields: The data.

        Raises:
            ValueError: They are less than one task.
        """
        if self.times is None:
            total, size, unit, described = int(fields.hours[-1] + fields.step), self.hours, "hours", "span"
        else:
            total, size, unit, described = len(fields.hours), self.times, "times", "have"
        num_tasks, waiting = divmod(total, size)
        if num_tasks == 0:
            raise ValueError(
                f"The data {described} {total} {unit}, less than one task of {size} {unit}: lower "
                f"{unit}_per_task, or add data."
            )
        if waiting:
            rank_zero_info(f"The data make {num_tasks} whole task(s); the last {waiting} {unit} wait for more data.")
        return num_tasks

    def begin_of(self, task: int, fields: Fields) -> float:
        """The hour at which a task begins; of a task after the last, the hour at which the last one ends.

        Args:
            task: The task, from 0.
            fields: The data.
        """
        if self.times is None:
            return float(self.hours * task)
        first = task * self.times
        return float(fields.hours[first] if first < len(fields.hours) else fields.hours[-1] + fields.step)

    def log_unused(self, num_tasks: int, fields: Fields) -> None:
        """Log how many times of the files are after the last task, and which options would use them.

        Args:
            num_tasks: The number of tasks.
            fields: The data.
        """
        file_hours = fields.file_hours
        assert file_hours is not None
        unused = int((file_hours >= self.begin_of(num_tasks, fields)).sum())
        if not unused:
            return
        if self.times is None:
            unit, size, length = "hours", self.hours, float(file_hours[-1] + fields.step)
        else:
            unit, size, length = "times", self.times, float((file_hours >= 0).sum())
        options = {
            "num_tasks": (num_tasks, int(length // size)),
            f"{unit}_per_task": (size, int(length // num_tasks)),
        }
        larger = [f"{name} to {needed}" for name, (present, needed) in options.items() if needed > present]
        rank_zero_info(
            f"The last {unused:,} of {len(file_hours):,} {'hours' if fields.step == 1 else 'times'} in the files are "
            f"not used: they are after the end of the stream, {num_tasks} task(s) of {size} {unit}. "
            + (f"To use them, set {' or '.join(larger)}." if larger else "They are too few for longer or more tasks.")
        )
