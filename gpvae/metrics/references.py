"""Reference predictions without a model, from the stream so far: climatology, persistence and the mean.

Shapes: S series, B some of them, T times, V variables. A reference learns the training values of one task after the
other, and predicts any time from them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

#: Hour of the day, from 0 to 23, and month, from 1 to 12, of times `[T]`.
Calendar = Callable[[Tensor], tuple[Tensor, Tensor]]
HOURS = 24


class Reference(ABC):
    """A prediction without a model."""

    @abstractmethod
    def update(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """Learn the training values of a task.

        Args:
            times: In order, after those of earlier tasks `[T]`.
            y: Values `[S, T, V]`.
            mask: Which of them are observed `[S, T, V]`.
        """

    @abstractmethod
    def predict(self, times: Tensor, series: Tensor) -> Tensor:
        """Predictions `[B, T, V]`; 0, the mean of the first task, where nothing has been seen.

        Args:
            times: `[T]`.
            series: Indices of the series `[B]`.
        """


class RunningMean(Reference):
    """The mean of all values seen, for each series and variable; its squared error is about the variance."""

    def __init__(self) -> None:
        self._total = self._count = torch.zeros(())

    def update(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """Add values to the mean."""
        self._total = self._total + torch.where(mask, y, 0.0).sum(1, dtype=torch.float64)
        self._count = self._count + mask.sum(1)

    def predict(self, times: Tensor, series: Tensor) -> Tensor:
        """The same value at all times."""
        total, count = self._total[series], self._count[series]
        return (total / count.clamp_min(1))[:, None].expand(-1, len(times), -1)


class Climatology(Reference):
    """The mean of the values seen in the same month at the same hour of the day, for each series and variable.

    A cell of few values is drawn towards the mean of the hour over all months, and that towards the mean of all values:
    each counts like one value. So a month that begins is predicted by what the other months have at that hour.

    Args:
        calendar: Hour of the day and month of times.
    """

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar
        self._mean = RunningMean()
        self._months: dict[int, tuple[Tensor, Tensor]] = {}  # sums and counts of values `[S, 24, V]`

    def update(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """Add values to the means of their hours and months."""
        self._mean.update(times, y, mask)
        hour, month = self._calendar(times)
        for number in month.unique().tolist():
            chosen = month == number
            parts = torch.where(mask[:, chosen], y[:, chosen], 0.0).double(), mask[:, chosen].double()
            empty = parts[0].new_zeros(len(y), HOURS, y.shape[-1])
            before = self._months.get(number, (empty, empty))
            total, count = (old.index_add(1, hour[chosen], part) for old, part in zip(before, parts, strict=True))
            self._months[number] = total, count

    def predict(self, times: Tensor, series: Tensor) -> Tensor:
        """The mean of the hour in the month, drawn towards that of the hour."""
        cells = {month: (total[series], count[series]) for month, (total, count) in self._months.items()}
        hour, month = self._calendar(times)
        mean = self._mean.predict(times, series)
        by_hour = _drawn_towards(mean, *(sum(parts)[:, hour] for parts in zip(*cells.values(), strict=True)))
        predicted = by_hour.clone()
        for number in month.unique().tolist():
            if number in cells:
                chosen = month == number
                of_month = (part[:, hour[chosen]] for part in cells[number])
                predicted[:, chosen] = _drawn_towards(by_hour[:, chosen], *of_month)
        return predicted


class Persistence(Reference):
    """The last value seen before the time, for each series and variable.

    It keeps the tensors of the tasks, not copies of them.
    """

    def __init__(self) -> None:
        self._tasks: list[tuple[Tensor, Tensor, Tensor]] = []
        self._before: list[Tensor] = []  # the last value seen before each task, and at the end, `[S, V]`

    def update(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """Add a task after those before it."""
        before = self._before[-1] if self._before else y.new_zeros(len(y), y.shape[-1])
        if not self._before:
            self._before.append(before)
        self._tasks.append((times, y, mask))
        self._before.append(_last_seen(before, y, mask)[:, -1])

    def predict(self, times: Tensor, series: Tensor) -> Tensor:
        """The last value before each time."""
        starts = torch.stack([task[0][0] for task in self._tasks])
        task_of_time = torch.bucketize(times, starts, right=True) - 1
        predicted = self._before[0][series][:, None].expand(-1, len(times), -1).clone()
        for number in task_of_time.unique().tolist():
            if number < 0:
                continue
            (learnt, y, mask), chosen = self._tasks[number], task_of_time == number
            seen = _last_seen(self._before[number][series], y[series], mask[series])
            predicted[:, chosen] = seen[:, torch.bucketize(times[chosen], learnt)]
        return predicted


def _drawn_towards(mean: Tensor, total: Tensor, count: Tensor) -> Tensor:
    """The mean of some values and of one more, which is given."""
    return (total + mean) / (count + 1)


def _last_seen(before: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """The last observed value before each time, and at the end, `[B, T + 1, V]`, given that before the first."""
    values = torch.cat([before[:, None], y], 1)
    position = torch.arange(1, mask.shape[1] + 1, device=mask.device)[:, None] * mask
    last = torch.cat([torch.zeros_like(position[:, :1]), position.cummax(1).values], 1)
    return values.gather(1, last)
