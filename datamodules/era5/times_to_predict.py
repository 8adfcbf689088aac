"""The times of a prediction in groups, and the batches of series in which each group is predicted."""

import torch
from torch import Tensor

from datamodules.era5.loader import SeriesLoader
from datamodules.era5.prepared import TaskValues

PREDICTED_TIMES = 256  # predicted at once
PREDICTED_VALUES = 2**16  # predicted at once: with 100 samples of each, 50 MB


def group_times(hours: Tensor, hours_per_task: float) -> list[Tensor]:
    """Divide times into groups that are predicted at once.

    The random numbers of a prediction depend on its group. So this is the only place that decides on groups, and the
    same times are predicted alike wherever they come from: evenly spaced ones, from the start of the stream on, in
    groups of equal size; others, such as the hours held out for test, task by task.

    Args:
        hours: Hours since the start of the stream, in order, each once `[T]`.
        hours_per_task: The length of a task.
    """
    seconds = (3600 * hours).round()
    steps = seconds.diff()
    if seconds[0] == 0 and (not len(steps) or bool((steps == steps[0]).all())):
        return list(hours.split(PREDICTED_TIMES))
    _, sizes = (hours // hours_per_task).unique_consecutive(return_counts=True)
    return list(hours.split(sizes.tolist()))


def prediction_loader(values: TaskValues, rank: int = 0, world_size: int = 1) -> SeriesLoader:
    """Batches of series at some times, small enough to be predicted at once.

    Args:
        values: The times, and the values of all series; see `unobserved` if there are none.
        rank: The rank of this process, from 0.
        world_size: The number of processes that share the series.
    """
    size = max(1, PREDICTED_VALUES // (len(values.times) * values.y.shape[-1]))
    return SeriesLoader(*values, size, rank=rank, world_size=world_size)


def unobserved(times: Tensor, num_series: int, num_variables: int) -> TaskValues:
    """Times at which nothing is observed.

    Args:
        times: Hours since the start of the stream `[T]`.
        num_series: S, the number of series.
        num_variables: V, the number of variables.
    """
    shape = num_series, len(times), num_variables
    return TaskValues(times, torch.zeros(1).expand(shape), torch.zeros(1, dtype=torch.bool).expand(shape))
