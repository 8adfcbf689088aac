"""The callback that collects the scores of each task after each task, writes, logs and prints them."""

import math
from typing import Any

import numpy as np
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn

from callbacks.continual import continual_module
from callbacks.results_folder import ResultsWriter
from gpvae.metrics import Score, TaskTable, describe
from gpvae.metrics.task_table import COLUMNS, FILE_NAME, OLD_COLUMNS, upgrade
from gpvae.results.terminal import console, end_table, fits, task_table


class TaskReport(ResultsWriter, Callback):
    """Writes `task_metrics.csv`, logs forgetting and backward transfer, and prints a table at the end.

    After each validation of a fit that ends a task it adds the module's `last_scores`. Validations in the middle of a
    task are not scores after a task, and are ignored.

    `task_metrics.csv`, in the run folder, has the columns after_task, task, metric, variable and value. A row without a
    task is over the points of all tasks seen, a row without a variable over all variables.

    Args:
        print_table: Whether to print scores when the fit ends.
    """

    def __init__(self, print_table: bool = True) -> None:
        super().__init__()
        self.print_table = print_table
        self.table = TaskTable()

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics with scores, NLPD first."""
        return self.table.metrics

    @property
    def variables(self) -> list[str]:
        """Names of the variables that are scored one by one."""
        return self.table.variables

    def matrix(self, metric: str, variable: str = "") -> np.ndarray:
        """Scores `[after_task, task]`, both from 0; NaN above the diagonal.

        Args:
            metric: One of `metrics`.
            variable: One of `variables`; over all of them together by default.
        """
        return self.table.matrix(metric, variable)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add the scores after a task, and write and log them."""
        module = continual_module(pl_module, "TaskReport")
        after_task = int(module.learned)
        if trainer.sanity_checking or trainer.state.fn != TrainerFn.FITTING:
            return
        if after_task == 0 or int(module.begun) != after_task:
            return
        self.table.drop_after(after_task)
        for score in module.last_scores:
            self.table.add(score)
        folder = self.results_folder(trainer)  # every process must ask
        if not trainer.is_global_zero:
            return
        if folder is not None:
            self.table.write(folder / FILE_NAME)
        changes: dict[str, float] = {}
        for metric in self.metrics:
            forgetting = self.table.forgetting(metric)
            if not math.isnan(forgetting):
                changes |= {f"{metric}/forgetting": forgetting, f"{metric}/backward_transfer": -forgetting}
        if changes:
            for logger in trainer.loggers:
                logger.log_metrics(changes, step=after_task)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Print a summary."""
        folder = self.results_folder(trainer)  # every process must ask
        if not (self.print_table and trainer.is_global_zero and self.metrics):
            return
        screen = console()
        first = self.metrics[0]
        tasks = task_table(self.matrix(first), self.table.seen(first))
        if fits(screen, tasks):
            screen.print(f"{describe(first).label} on each task, after each task", tasks, sep="\n")
        else:
            screen.print(f"{self.table.num_tasks} tasks, too many for a table here: see {FILE_NAME}")
        ends = {metric: (self.table.seen(metric)[-1], self.table.forgetting(metric)) for metric in self.metrics}
        screen.print("After the last task", end_table(ends), sep="\n")
        if folder is not None:
            screen.print(f"Logs, scores and checkpoints are in {folder}", soft_wrap=True, highlight=False, markup=False)

    def state_dict(self) -> dict[str, Any]:
        """The scores so far, as a list for each column."""
        rows = self.table.rows()
        return {column: [row[i] for row in rows] for i, column in enumerate(COLUMNS)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load scores from a checkpoint, in the present layout or the previous one without a column for variables."""
        old = "variable" not in state_dict
        rows = zip(*(state_dict[column] for column in (OLD_COLUMNS if old else COLUMNS)), strict=True)
        self.table = TaskTable((upgrade if old else Score)(*row) for row in rows)
