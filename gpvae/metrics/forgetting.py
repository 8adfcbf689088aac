"""What learning new tasks did to old ones."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from torchmetrics import Metric

from gpvae.metrics.target import LOWER, Target


class TaskMatrix(Metric):
    """The matrix R with R[i, j] the score on task j after task i was learnt; both count from 1.

    Scores have been reduced over processes before. An entry given again replaces the earlier one, and entries that
    several processes hold are averaged. Every process must have reached task i.

    Args:
        target: The best score: `LOWER`, `HIGHER` (accuracy), or a value such as `Target(0.9)` (coverage).
        kwargs: Arguments of `torchmetrics.Metric`.
    """

    is_differentiable = False
    full_state_update = True  # entries replace each other, which a sum of batches could not tell

    values: Tensor
    known: Tensor

    def __init__(self, target: Target = LOWER, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target = target
        self.add_state("values", torch.zeros(0, 0, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("known", torch.zeros(0, 0, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, after_task: int, task: int, value: float | Tensor) -> None:
        """Enter one score.

        Args:
            after_task: How many tasks were learnt, 1 or more.
            task: The task that was scored, from 1 to `after_task`.
            value: Its score.
        """
        if not 1 <= task <= after_task:
            raise ValueError(f"tasks count from 1 and are scored once learnt; got task {task} after task {after_task}")
        grow = max(0, after_task - len(self.values))
        self.values, self.known = pad(self.values, (0, grow, 0, grow)), pad(self.known, (0, grow, 0, grow))
        self.values[after_task - 1, task - 1] = float(value)
        self.known[after_task - 1, task - 1] = 1

    def compute(self) -> Tensor:
        """R, with NaN where no score is known."""
        return torch.where(self.known > 0, self.values / self.known, torch.nan)


class Forgetting(TaskMatrix):
    """How much worse old tasks became: the mean over tasks j < T of R[T, j] - R[j, j].

    Scores are compared by their loss (see `Target`), so that more forgetting is always the greater number. Tasks
    without one of the two scores are left out. NaN as long as there is no old task.

    Args:
        target: The best score: `LOWER`, `HIGHER` (accuracy), or a value such as `Target(0.9)` (coverage).
        kwargs: Arguments of `torchmetrics.Metric`.

    Example:
        >>> forgetting = Forgetting()
        >>> forgetting.update(after_task=1, task=1, value=0.25)  # NLPD of task 1 when just learnt
        >>> forgetting.update(after_task=2, task=1, value=0.75)  # and after task 2
        >>> forgetting.update(after_task=2, task=2, value=0.5)
        >>> print(forgetting.compute().item())
        0.5
    """

    higher_is_better = False

    def compute(self) -> Tensor:
        """The mean of what was lost."""
        losses = self.target.loss(super().compute())
        lost = (losses[-1] - losses.diagonal())[:-1] if len(losses) else losses.flatten()
        return lost.nanmean()


class BackwardTransfer(Forgetting):
    """How much better old tasks became, minus `Forgetting`: the BWT of Lopez-Paz and Ranzato (2017).

    Example:
        >>> from gpvae.metrics import HIGHER
        >>> transfer = BackwardTransfer(HIGHER)  # accuracy on task 1 when just learnt, and after task 2
        >>> for scored in ((1, 1, 0.5), (2, 1, 0.75), (2, 2, 0.5)):
        ...     transfer.update(*scored)
        >>> print(transfer.compute().item())
        0.25
    """

    higher_is_better = True

    def compute(self) -> Tensor:
        """The mean of what was gained."""
        return -super().compute()
