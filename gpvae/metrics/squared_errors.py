"""Squared errors of a model and of references, summed for each task and variable: skill, and RMSE in physical units."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gpvae.metrics.score import Score
from gpvae.utils.distributed import sum_over_processes

MODEL, PHYSICAL = "model", "physical"


class SquaredErrors:
    """Sums of squared errors for each task and variable, by what made the prediction.

    The skill against a reference is 1 - MSE / MSE of the reference: 1 is perfect, 0 no better than the reference.

    Args:
        num_tasks: Number of tasks.
        num_variables: Number of variables V.
        references: Names of the references.
        physical: Whether there are errors in physical units too.
    """

    def __init__(self, num_tasks: int, num_variables: int, references: Sequence[str], physical: bool = False) -> None:
        self.references, self.physical = list(references), physical
        names = [MODEL, *([PHYSICAL] if physical else []), *references]
        self._rows = {name: row for row, name in enumerate(names)}
        self._total = torch.zeros(len(names), num_tasks, num_variables, dtype=torch.float64)
        self._count = torch.zeros(num_tasks, num_variables, dtype=torch.float64)

    def count(self, task: int, variable: Tensor) -> None:
        """Count points of a task, from 0, by their variables `[N]`."""
        self._count[task].index_add_(0, variable.cpu(), torch.ones(len(variable), dtype=torch.float64))

    def add(self, name: str, task: int, error: Tensor, variable: Tensor) -> None:
        """Add errors `[N]`.

        Args:
            name: What made the prediction.
            task: Index of the task, from 0.
            error: Errors.
            variable: Index of the variable of each `[N]`.
        """
        self._total[self._rows[name], task].index_add_(0, variable.cpu(), error.double().square().cpu())

    def compute(self, after_task: int, variables: Sequence[str], device: torch.device) -> list[Score]:
        """Scores over the points of all processes; every process must call this.

        Args:
            after_task: How many tasks have been learnt.
            variables: Names of the variables; empty if there is only one, without a name.
            device: The device by which processes communicate.
        """
        sums = sum_over_processes(torch.cat([self._total, self._count[None]]).to(device)).cpu()
        sums = torch.cat([sums, sums.sum(1, keepdim=True)], 1)  # all tasks
        sums = torch.cat([sums.sum(2, keepdim=True), sums], 2)  # all variables, then each
        total, count = sums[:-1], sums[-1]
        names = ["", *variables] if variables else [""]
        scores = []
        for column, variable in enumerate(names):
            for row in range(len(count)):
                task = row + 1 if row < len(count) - 1 else None
                if not count[row, column]:
                    continue
                if self.physical and (variable or not variables):
                    rmse = (total[self._rows[PHYSICAL], row, column] / count[row, column]).sqrt()
                    scores.append(Score(after_task, task, "rmse_physical", variable, float(rmse)))
                for name in self.references:
                    if (reference := total[self._rows[name], row, column]) > 0:
                        skill = 1 - total[self._rows[MODEL], row, column] / reference
                        scores.append(Score(after_task, task, f"skill_{name}", variable, float(skill)))
        return scores
