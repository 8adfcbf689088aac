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


class Points(Metric):
    """How many points there were, on all processes.

    Args:
        kwargs: Handed on to `torchmetrics.Metric`.
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
    """One set of metrics for each task and one for the points of all tasks together.

    Nothing of it goes into a checkpoint: scores are computed anew at each validation.

    Args:
        names: Short names of the metrics, see `METRICS`.
        num_groups: How many groups points fall into, such as variables, that are scored one by one too.

    Example:
        >>> import torch
        >>> from torch.distributions import Normal
        >>> scores = TaskScores(["rmse"])
        >>> scores.reset(num_tasks=2)
        >>> scores.update(0, Normal(torch.zeros(3), torch.ones(3)), torch.full((3,), 1.0))
        >>> scores.update(1, Normal(torch.zeros(1), torch.ones(1)), torch.full((1,), 3.0))
        >>> for key, value in scores.compute().items():
        ...     print(f"{key} {value:.2f}")
        rmse/task_01 1.00
        rmse/task_02 3.00
        rmse/seen 1.73
    """

    def __init__(self, names: Sequence[str], num_groups: int = 1) -> None:
        super().__init__()
        if not names:
            raise ValueError("no metric to score tasks by; name one or more")
        self.names, self.num_groups = list(dict.fromkeys(names)), num_groups
        self.seen = self._metrics()  # the tasks' own points are added up in it, once they are all in
        self.tasks = nn.ModuleList()

    def _metrics(self) -> nn.ModuleDict:
        return nn.ModuleDict({"points": Points(), **{name: self._metric(name) for name in self.names}})

    def _metric(self, name: str) -> Metric:
        kind = find_metric(name)
        return kind(num_groups=self.num_groups) if issubclass(kind, PointwiseMean) else kind()

    def reset(self, num_tasks: int) -> None:
        """Forget all points and make room for so many tasks; on every process alike.

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

    def update(self, task: int, predictive: Distribution, target: Tensor, group: Tensor | None = None) -> None:
        """Take in test points of one task.

        Args:
            task: Index of the task, from 0.
            predictive: Predictive distribution of each target.
            target: Targets, of the same shape.
            group: Which group each target is of, from 0, of the same shape.
        """
        if not 0 <= task < len(self.tasks):
            raise IndexError(f"no task of index {task}: there is room for {len(self.tasks)}; call reset(num_tasks)")
        for metric in cast(nn.ModuleDict, self.tasks[task]).values():
            groups = (group,) if isinstance(metric, PointwiseMean) else ()
            cast(Metric, metric).update(predictive, target, *groups)

    def compute(self) -> dict[str, Tensor]:
        """Scores over the points of all processes, for every process; each of them must call this.

        Returns:
            `nlpd/task_01`, `nlpd/task_02`, ..., `nlpd/seen`, then the next metric. Tasks without points are left out.
        """
        with self._parts() as parts:
            values = {
                part: {name: cast(Metric, metric).compute() for name, metric in metrics.items()}
                for part, metrics in parts.items()
            }
        scored = {part: scores for part, scores in values.items() if scores["points"] > 0}
        return {f"{name}/{part}": scores[name] for name in self.names for part, scores in scored.items()}

    def by_group(self, groups: Sequence[str]) -> dict[str, Tensor]:
        """Scores of each group over the points of all processes, of metrics that are means over points.

        Each process must call this.

        Args:
            groups: Names of the groups.

        Returns:
            `nlpd:t2m/task_01`, ..., `nlpd:t2m/seen`, for every group `t2m` and metric. What has no points is left out.
        """
        found: dict[str, Tensor] = {}
        with self._parts() as parts:
            for name in self.names:
                for part, metrics in parts.items():
                    metric = metrics[name]
                    if isinstance(metric, PointwiseMean):
                        with metric.sync_context():
                            scores, counts = metric.by_group(), metric.count.tolist()
                        scored = zip(groups, scores, counts, strict=True)
                        found |= {f"{name}:{group}/{part}": score for group, score, count in scored if count}
        return found

    @contextmanager
    def _parts(self) -> Iterator[dict[str, nn.ModuleDict]]:
        """The metrics of each task, and those over the points of all tasks."""
        for name, pooled in self.seen.items():
            cast(Metric, pooled).reset()
            for metrics in self.tasks:
                cast(Metric, pooled).merge_state(cast(Metric, cast(nn.ModuleDict, metrics)[name]))
        tasks = {f"task_{i:02d}": cast(nn.ModuleDict, metrics) for i, metrics in enumerate(self.tasks, start=1)}
        with warnings.catch_warnings():
            # A process may have no points of a task that another has points of, and must still join in.
            warnings.filterwarnings("ignore", "The ``compute`` method of metric", UserWarning)
            yield tasks | {"seen": self.seen}
