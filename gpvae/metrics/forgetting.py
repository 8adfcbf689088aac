"""What learning new tasks did to old ones."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from torchmetrics import Metric

from gpvae.metrics.target import LOWER, Aim


class TaskMatrix(Metric):
    """The matrix R with R[i, j] the score on task j after task i was learnt; both count from 1.

    Scores are final: they were reduced over processes before. An entry given again replaces the earlier one, and
    entries that several processes hold are averaged. Every process must have got as far as task i.

    Args:
        aim: What the score should be; `HIGHER` for one such as accuracy, `Aim(0.9)` for the coverage of 90 % intervals.
        kwargs: Handed on to `torchmetrics.Metric`.
    """

    is_differentiable = False
    full_state_update = True  # entries replace each other, which a sum of batches could not tell

    values: Tensor
    known: Tensor

    def __init__(self, aim: Aim = LOWER, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.aim = aim
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

    The sign is turned where a higher score is better, so that more forgetting is always the greater number; where
    scores should be near a value, it is their distances from it that are compared. Tasks of which one of the two
    scores is not known are left out. NaN as long as there is no old task.

    Args:
        aim: What the score should be; `HIGHER` for one such as accuracy, `Aim(0.9)` for the coverage of 90 % intervals.
        kwargs: Handed on to `torchmetrics.Metric`.

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
        losses = self.aim.loss(super().compute())
        lost = (losses[-1] - losses.diagonal())[:-1] if len(losses) else losses.flatten()
        return lost.nanmean()


class BackwardTransfer(Forgetting):
    """How much better old tasks became, minus `Forgetting`: the BWT of Lopez-Paz and Ranzato (2017).

    Args:
        aim: What the score should be; `HIGHER` for one such as accuracy, `Aim(0.9)` for the coverage of 90 % intervals.
        kwargs: Handed on to `torchmetrics.Metric`.

    Example:
        >>> from gpvae.metrics import HIGHER
        >>> transfer = BackwardTransfer(HIGHER)
        >>> transfer.update(after_task=1, task=1, value=0.5)  # accuracy on task 1 when just learnt
        >>> transfer.update(after_task=2, task=1, value=0.75)  # and after task 2
        >>> transfer.update(after_task=2, task=2, value=0.5)
        >>> print(transfer.compute().item())
        0.25
    """

    higher_is_better = True

    def compute(self) -> Tensor:
        """The mean of what was won."""
        return -super().compute()
