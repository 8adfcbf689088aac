"""Forgetting: how scores of earlier tasks change as later ones are learnt."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from torchmetrics import Metric

from gpvae.metrics.score import check_tasks, mean_increase
from gpvae.metrics.target import LOWER, Target


class TaskMatrix(Metric):
    """The matrix R, where R[i, j] is the score on task j after task i was learnt; tasks count from 1.

    A later entry replaces an earlier one. Scores are already reduced over processes: entries that several processes
    have are averaged, and all processes must have reached the same task.

    Args:
        target: The best score: `LOWER`, `HIGHER` (accuracy), or a value such as `Target(0.9)` (coverage).
        kwargs: Arguments of `torchmetrics.Metric`.
    """

    is_differentiable = False
    full_state_update = True  # entries replace each other and cannot be summed over batches

    values: Tensor
    known: Tensor

    def __init__(self, target: Target = LOWER, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target = target
        self.add_state("values", torch.zeros(0, 0, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("known", torch.zeros(0, 0, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, after_task: int, task: int, value: float | Tensor) -> None:
        """Enter a score.

        Args:
            after_task: How many tasks were learnt, 1 or more.
            task: The task that was scored, from 1 to `after_task`.
            value: Its score.
        """
        check_tasks(after_task, task)
        grow = max(0, after_task - len(self.values))
        self.values, self.known = pad(self.values, (0, grow, 0, grow)), pad(self.known, (0, grow, 0, grow))
        self.values[after_task - 1, task - 1] = float(value)
        self.known[after_task - 1, task - 1] = 1

    def compute(self) -> Tensor:
        """R, with NaN where no score is known."""
        return torch.where(self.known > 0, self.values / self.known, torch.nan)


class Forgetting(TaskMatrix):
    """How much worse earlier tasks became: the mean over tasks j < T of L[T, j] - L[j, j], with L the loss of R.

    The loss of a score depends on its target, see `Target`; positive values are always forgetting. Tasks without one
    of the two scores are left out. NaN before the second task. Arguments are those of `TaskMatrix`.

    Example:
        >>> forgetting = Forgetting()
        >>> forgetting.update(after_task=1, task=1, value=0.25)  # NLPD of task 1 when just learnt,
        >>> forgetting.update(after_task=2, task=1, value=0.75)  # and after task 2
        >>> forgetting.update(after_task=2, task=2, value=0.5)
        >>> print(forgetting.compute().item())
        0.5
    """

    higher_is_better = False

    def compute(self) -> Tensor:
        """The mean increase of the loss."""
        losses = self.target.loss(super().compute())
        return losses.new_tensor(mean_increase(losses.cpu().numpy()))


class BackwardTransfer(Forgetting):
    """How much better earlier tasks became, the negative of `Forgetting`: BWT of Lopez-Paz and Ranzato (2017).

    Example:
        >>> from gpvae.metrics import HIGHER
        >>> transfer = BackwardTransfer(HIGHER)  # accuracy on task 1 when just learnt, and after task 2
        >>> for entry in ((1, 1, 0.5), (2, 1, 0.75), (2, 2, 0.5)):
        ...     transfer.update(*entry)
        >>> print(transfer.compute().item())
        0.25
    """

    higher_is_better = True

    def compute(self) -> Tensor:
        """The mean decrease of the loss."""
        return -super().compute()
