"""Compares predictions with references that know what the stream has shown so far, and converts errors to units."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.distributions import Distribution, MixtureSameFamily, Normal

from callbacks.location_errors import LocationErrors
from datamodules import PointStream, TaskStream
from datamodules.era5 import SeriesStream
from datamodules.era5.loader import SeriesBatch
from gpvae.metrics import Climatology, ForesightCell, Persistence, Reference, RunningMean, Score, SquaredErrors
from gpvae.metrics.foresight_table import ERROR
from gpvae.metrics.squared_errors import MODEL, PHYSICAL
from gpvae.modules import ContinualModule
from gpvae.results.location_table import LocationScore
from gpvae.utils.distributed import sum_over_processes
from gpvae.utils.lead_times import GROUPS, lead_group


class Comparison:
    """References for a stream, and the errors of a validation compared with theirs.

    References learn the training values of the tasks that the module has learnt, from the stream: a resumed run
    computes them again, and nothing is saved. All work on series; the points of a stream are one series.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: TaskStream) -> None:
        self.stream = stream
        self.references: dict[str, Reference] = references_for(stream)
        self._learnt = 0
        self._errors = SquaredErrors(0, 1, [])
        self._by_location: LocationErrors | None = None

    def catch_up(self, num_learnt: int) -> None:
        """Have the references learn tasks up to a number."""
        if num_learnt < self._learnt:
            self.references, self._learnt = references_for(self.stream), 0
        for task in range(self._learnt, num_learnt if self.references else 0):
            for reference in self.references.values():
                reference.update(*_as_series(self.stream.task_data(task))[1:])
        self._learnt = num_learnt

    def begin(self, num_tasks: int) -> None:
        """Begin a validation of some tasks."""
        physical = isinstance(self.stream, SeriesStream)
        self._errors = SquaredErrors(num_tasks, self.stream.num_variables, list(self.references), physical)
        if isinstance(self.stream, SeriesStream) and "climatology" in self.references:
            self._by_location = LocationErrors(self.stream.num_series)

    def add(self, task: int, batch: Sequence[Tensor], predictive: Distribution) -> None:
        """Add the errors of a batch of test points.

        Args:
            task: Index of the task, from 0.
            batch: The batch.
            predictive: Its predictive distribution, of the observed values.
        """
        series, times, y, mask = (part.cpu() for part in _as_series(batch))
        variable = torch.arange(y.shape[-1]).expand_as(y)[mask]
        self._errors.count(task, variable)
        own = y[mask] - predictive.mean.cpu()
        self._errors.add(MODEL, task, own, variable)
        for name, reference in self.references.items():
            error = (y - reference.predict(times, series))[mask]
            self._errors.add(name, task, error, variable)
            if self._by_location is not None and name == "climatology":
                self._by_location.add(series[:, None, None].expand_as(mask)[mask], own, error)
        if isinstance(self.stream, SeriesStream):
            error = physical_error(self.stream, SeriesBatch(series, times, y, mask), predictive)
            self._errors.add(PHYSICAL, task, error, variable)

    def scores(self, module: ContinualModule) -> list[Score]:
        """Skill, and RMSE in physical units; every process must call this."""
        scores = self._errors.compute(module.learned, variable_names(self.stream), module.device)
        return [score for score in scores if self.stream.scores_all_tasks or score.task is not None]

    def locations(self, module: ContinualModule) -> list[LocationScore]:
        """Scores of every location, if the stream has locations; every process must call this."""
        if self._by_location is None or not isinstance(self.stream, SeriesStream):
            return []
        return self._by_location.scores(self.stream, module.device)

    def foreseen(self, module: ContinualModule, task: int) -> list[ForesightCell]:
        """Squared errors of the references on a task that is to begin, by lead time; every process must call this.

        Args:
            module: The module, which has scored its own predictions of the task.
            task: Index of the task, from 0.
        """
        num_variables = self.stream.num_variables
        names = variable_names(self.stream) or [""]
        total = torch.zeros(len(self.references) + 1, len(GROUPS) * num_variables, dtype=torch.float64)
        process = module.global_rank, module.trainer.world_size
        for batch in self.stream.preview_loader(task, *process):
            series, times, y, mask = _as_series(batch)
            on_device = module.transfer_batch_to_device(batch, module.device, 0)
            lead = module.lead_time(on_device)
            assert lead is not None
            variable = torch.arange(y.shape[-1]).expand_as(y)[mask]
            group = num_variables * lead_group(lead.double()).cpu() + variable
            total[-1].index_add_(0, group, torch.ones(len(group), dtype=torch.float64))
            for row, reference in enumerate(self.references.values()):
                error = (y - reference.predict(times, series))[mask].double()
                total[row].index_add_(0, group, error.square())
        total = sum_over_processes(total.to(module.device)).cpu().reshape(len(total), len(GROUPS), -1)
        return [
            ForesightCell(task + 1, lead_name, ERROR + name, variable, float(sums[g, v]), int(total[-1, g, v]))
            for name, sums in zip(self.references, total, strict=False)
            for g, lead_name in enumerate(GROUPS)
            for v, variable in enumerate(names)
            if total[-1, g, v]
        ]


def references_for(stream: TaskStream) -> dict[str, Reference]:
    """New references that make sense for a stream, by name.

    Args:
        stream: Series have all; points along one input have no calendar; points in space have no order; labels and
            counts have none.
    """
    if not stream.scores_all_tasks:
        return {}  # they would not know tasks whose data are not here
    if isinstance(stream, SeriesStream):
        return {
            "climatology": Climatology(stream.calendar),
            "persistence": Persistence(),
            "variance": RunningMean(),
        }
    if isinstance(stream, PointStream) and getattr(stream, "likelihood", None) == "gaussian":
        along_a_line = {"persistence": Persistence()} if stream.input_dim == 1 else {}
        return {**along_a_line, "variance": RunningMean()}
    return {}


def variable_names(stream: TaskStream) -> list[str]:
    """Short names of the variables; empty if there is only one."""
    names = [variable.short_name for variable in stream.variables] if isinstance(stream, SeriesStream) else []
    return names if len(names) > 1 else []


def physical_error(stream: SeriesStream, batch: SeriesBatch, predictive: Distribution) -> Tensor:
    """Errors of the predictive mean in units of the data, of the observed values of a batch.

    The mean of a transformed variable, such as rain, is that of its values in units of the data: each component of the
    mixture stands for one of them, at quantiles that are spread evenly over the components.

    Args:
        stream: The stream.
        batch: The batch.
        predictive: Its predictive distribution.
    """
    series, _, y, mask = batch
    if isinstance(predictive, MixtureSameFamily) and isinstance(predictive.component_distribution, Normal):
        parts = predictive.component_distribution
        size = parts.mean.shape[-1]
        order = torch.randperm(size, generator=torch.Generator().manual_seed(0))
        quantiles = torch.special.ndtri((order.double() + 0.5) / size).to(parts.mean)
        values = (parts.mean + parts.stddev * quantiles).cpu()
    else:
        values = predictive.mean.cpu()[:, None]
    whole = torch.zeros(*y.shape, values.shape[-1], dtype=values.dtype)
    whole[mask] = values
    predicted = stream.to_physical(whole.movedim(-1, 0), series).mean(0)
    return (stream.to_physical(y, series) - predicted)[mask]


def _as_series(data: Sequence[Tensor]) -> SeriesBatch:
    """A batch, or the training data of a task: that of series, or that of points as one series of one variable."""
    if len(data) == 4:
        return SeriesBatch(*data)
    if len(data) == 3 and data[1].ndim == 3:  # the training data of series
        times, y, mask = data
        return SeriesBatch(torch.arange(len(y)), times, y, mask)
    x, y = data[0], data[1]
    whole = y[None, :, None]
    return SeriesBatch(torch.zeros(1, dtype=torch.int64), x[:, 0], whole, torch.ones_like(whole, dtype=torch.bool))
