"""Scores of every task seen so far, and of all of them together."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torchmetrics import Metric

from gpvae.metrics.pointwise import PointwiseMean
from gpvae.metrics.registry import find_metric
from gpvae.metrics.score import Score


class PointCount(Metric):
    """The number of points, over all processes.

    Args:
        kwargs: Arguments of `torchmetrics.Metric`.
    """

    full_state_update = False

    count: Tensor

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, predictive: Distribution, target: Tensor) -> None:
        """Count the targets."""
        self.count = self.count + target.numel()

    def compute(self) -> Tensor:
        """The number of points so far."""
        return self.count


class TaskScores(nn.Module):
    """Metrics of each task, and of the points of all tasks together.

    They are not part of checkpoints: scores are computed again at each validation.

    Args:
        names: Short names of the metrics, see `METRICS`.
        num_variables: The number of variables, which are also scored one by one if there are several.

    Example:
        >>> import torch
        >>> from torch.distributions import Normal
        >>> scores = TaskScores(["rmse"])
        >>> scores.reset(num_tasks=2)
        >>> scores.update(0, Normal(torch.zeros(3), torch.ones(3)), torch.full((3,), 1.0))
        >>> scores.update(1, Normal(torch.zeros(1), torch.ones(1)), torch.full((1,), 3.0))
        >>> for score in scores.compute(after_task=2):
        ...     print(score.metric, score.task or "all", f"{score.value:.2f}")
        rmse 1 1.00
        rmse 2 3.00
        rmse all 1.73
    """

    def __init__(self, names: Sequence[str], num_variables: int = 1) -> None:
        super().__init__()
        if not names:
            raise ValueError("no metrics to score tasks by; give at least one")
        self.names, self.num_variables = list(dict.fromkeys(names)), num_variables
        self.seen = self._metrics()  # pools the points of the tasks when scores are computed
        self.tasks = nn.ModuleList()

    def _metrics(self) -> nn.ModuleDict:
        return nn.ModuleDict({"points": PointCount(), **{name: self._metric(name) for name in self.names}})

    def _metric(self, name: str) -> Metric:
        kind = find_metric(name)
        return kind(num_groups=self.num_variables) if issubclass(kind, PointwiseMean) else kind()

    def reset(self, num_tasks: int) -> None:
        """Discard all points and make room for tasks, the same number on every process.

        Args:
            num_tasks: The number of tasks.
        """
        device = cast(Metric, self.seen["points"]).device
        self.tasks = self.tasks[:num_tasks]
        while len(self.tasks) < num_tasks:
            self.tasks.append(self._metrics().to(device))
        for metric in self.modules():
            if isinstance(metric, Metric):
                metric.reset()

    def update(self, task: int, predictive: Distribution, target: Tensor, variable: Tensor | None = None) -> None:
        """Add test points of one task.

        Args:
            task: Index of the task, from 0.
            predictive: Predictive distribution of each target.
            target: Targets, of the same shape.
            variable: Index of the variable of each target, of the same shape.
        """
        if not 0 <= task < len(self.tasks):
            raise IndexError(f"no task with index {task}: there is room for {len(self.tasks)}; call reset(num_tasks)")
        for metric in cast(nn.ModuleDict, self.tasks[task]).values():
            groups = (variable,) if isinstance(metric, PointwiseMean) else ()
            cast(Metric, metric).update(predictive, target, *groups)

    def compute(self, after_task: int, variables: Sequence[str] = ()) -> list[Score]:
        """Compute scores over the points of all processes; every process must call this.

        Args:
            after_task: How many tasks have been learnt.
            variables: Names of the variables, to score them one by one by the metrics that are means over points.

        Returns:
            For each metric the scores of single tasks, then of all tasks, first over all variables. Tasks and variables
            without points are left out.
        """
        with self._parts() as parts:
            counts = {task: int(cast(Metric, metrics["points"]).compute()) for task, metrics in parts.items()}
            scores = [
                Score(after_task, task, name, "", float(cast(Metric, metrics[name]).compute()))
                for name in self.names
                for task, metrics in parts.items()
                if counts[task] > 0
            ]
            for name in self.names if variables else ():
                for task, metrics in parts.items():
                    found = self._by_variable(cast(Metric, metrics[name]), variables)
                    scores += [Score(after_task, task, name, variable, value) for variable, value in found.items()]
        return scores

    @staticmethod
    def _by_variable(metric: Metric, variables: Sequence[str]) -> dict[str, float]:
        """Scores of the variables that have points on any process."""
        if not isinstance(metric, PointwiseMean):
            return {}
        with metric.sync_context():
            scored = zip(variables, metric.by_group().tolist(), metric.count.tolist(), strict=True)
        return {variable: score for variable, score, count in scored if count}

    @contextmanager
    def _parts(self) -> Iterator[dict[int | None, nn.ModuleDict]]:
        """The metrics of each task by its number, and those over the points of all tasks under None."""
        for name, pooled in self.seen.items():
            cast(Metric, pooled).reset()
            for metrics in self.tasks:
                cast(Metric, pooled).merge_state(cast(Metric, cast(nn.ModuleDict, metrics)[name]))
        parts: dict[int | None, nn.ModuleDict] = {
            number: cast(nn.ModuleDict, metrics) for number, metrics in enumerate(self.tasks, start=1)
        }
        with warnings.catch_warnings():
            # A process without points of a task still takes part in the reduction.
            warnings.filterwarnings("ignore", "The ``compute`` method of metric", UserWarning)
            yield {**parts, None: self.seen}
