"""Prequential scores: how well a task is predicted before it is learnt, by lead time."""

from collections.abc import Sequence
from typing import NamedTuple, cast

from torch import Tensor, nn
from torch.distributions import Distribution

from gpvae.metrics.pointwise import Coverage, PointwiseMean
from gpvae.metrics.registry import METRICS
from gpvae.utils.lead_times import GROUPS, lead_group


class ForesightCell(NamedTuple):
    """The sum of a metric over the values of one task, group of lead times and variable.

    Args:
        task: The task that was predicted before it was learnt, from 2.
        lead: Name of the group of lead times.
        metric: Short name of the metric.
        variable: The variable; empty if there is only one.
        total: Sum over values, before the metric's last step such as the root of RMSE.
        num_values: Number of values.
    """

    task: int
    lead: str
    metric: str
    variable: str
    total: float
    num_values: int


class Foresight(nn.Module):
    """Metrics of predictions of the next task, for each group of lead times and each variable.

    They are not part of checkpoints: a task is predicted once, as a whole.

    Args:
        names: Short names of metrics; those that are means over points are used.
        num_variables: The number of variables V.

    Example:
        >>> import torch
        >>> from torch.distributions import Normal
        >>> foresight = Foresight(["coverage"])
        >>> foresight.update(Normal(torch.zeros(3), torch.ones(3)), torch.tensor([0.0, 1.0, 9.0]), torch.arange(5, 8))
        >>> foresight.coverage().flatten().tolist()  # at lead times of 5 and 6, of 7, and of none
        [1.0, 0.0, nan, nan]
    """

    def __init__(self, names: Sequence[str], num_variables: int = 1) -> None:
        super().__init__()
        self.num_variables = num_variables
        kinds = {name: METRICS[name] for name in dict.fromkeys(names) if issubclass(METRICS[name], PointwiseMean)}
        self.metrics = nn.ModuleDict({name: kind(len(GROUPS) * num_variables) for name, kind in kinds.items()})

    def reset(self) -> None:
        """Discard all values."""
        for metric in self.metrics.values():
            cast(PointwiseMean, metric).reset()

    def update(self, predictive: Distribution, target: Tensor, lead: Tensor, variable: Tensor | None = None) -> None:
        """Add values of the next task.

        Args:
            predictive: Predictive distribution of each value.
            target: The values.
            lead: Lead time of each value, of the same shape.
            variable: Index of the variable of each value, of the same shape.
        """
        group = self.num_variables * lead_group(lead.double()) + (0 if variable is None else variable)
        for metric in self.metrics.values():
            cast(PointwiseMean, metric).update(predictive, target, group)

    def cells(self, task: int, variables: Sequence[str] = ("",)) -> list[ForesightCell]:
        """Sums over the values of all processes; every process must call this.

        Args:
            task: The task, from 1.
            variables: Names of the variables.
        """
        cells = []
        for name, metric in self.metrics.items():
            total, count = self._synced(cast(PointwiseMean, metric))
            for group, lead in enumerate(GROUPS):
                for column, variable in enumerate(variables):
                    if number := int(count[group, column]):
                        cells.append(ForesightCell(task, lead, name, variable, float(total[group, column]), number))
        return cells

    def coverage(self) -> Tensor:
        """The fraction of values in 90 % intervals, over all processes, `[G, V]`; NaN where there are no values."""
        total, count = self._synced(cast(Coverage, self.metrics["coverage"]))
        return total / count

    def _synced(self, metric: PointwiseMean) -> tuple[Tensor, Tensor]:
        """Sums and counts over the values of all processes, `[G, V]`."""
        with metric.sync_context():
            return metric.total.reshape(len(GROUPS), -1).clone(), metric.count.reshape(len(GROUPS), -1).clone()
