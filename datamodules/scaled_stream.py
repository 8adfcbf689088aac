"""Streams of measured data, which are scaled before training."""

from typing import Any, ClassVar, Literal, get_args

from torch import Tensor

from datamodules.point_scale import PointScale
from datamodules.point_stream import PointStream
from datamodules.scaling import minmax_scale
from datamodules.splits import Task, first_dimension
from gpvae.utils.checks import choice

Statistics = Literal["first_task", "global"]


class MeasuredStream(PointStream):
    """A stream whose inputs are scaled to an interval and whose targets are standardised.

    Args:
        statistics: The points that set the scale. "first_task": the training points of the first task, all that is
            known when the stream begins; a single input (time) is mapped so that the first task fills its share,
            1 / num_tasks, of the interval. "global": all points, including later tasks and test points, as in the
            paper.
        options: See `PointStream`.
    """

    interval: ClassVar[tuple[float, float]]
    """The interval that the inputs are scaled to."""
    standardises: ClassVar[bool] = True
    """Whether the targets are standardised; counts are not."""

    def __init__(self, statistics: Statistics = "first_task", **options: Any) -> None:
        choice("statistics", statistics, get_args(Statistics))
        super().__init__(**options)
        self.statistics = statistics

    def order(self, x: Tensor) -> Tensor:
        """The key that points are sorted by `[N]`: the first dimension of the input, on the scale of all data.

        The order in which points arrive does not depend on `statistics`, so both options give the same tasks.
        """
        return first_dimension(minmax_scale(x, *self.interval))

    def scaled(self, tasks: list[Task], x: Tensor, y: Tensor) -> list[Task]:
        """The tasks on the scale of the model."""
        low, high = self.interval
        if self.statistics == "first_task":
            x, y = tasks[0].x_train, tasks[0].y_train
            self._check_first_task(x, y)
            if self.input_dim == 1:
                high = low + (high - low) / self.num_tasks
        self.scale = PointScale.fit(x, y, low, high, standardises=self.standardises)
        return [task.scaled(self.scale) for task in tasks]

    def _check_first_task(self, x: Tensor, y: Tensor) -> None:
        if (x == x[0]).all():
            fault = "have the same input"
        elif self.standardises and (y == y[0]).all():
            fault = "have the same target"
        else:
            return
        raise ValueError(
            f"All {len(x)} training points of the first task {fault}, which sets no scale: lower num_tasks, or use "
            'statistics="global".'
        )
