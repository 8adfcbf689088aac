"""Keeps the scores of every task after every task, and reports them."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor

from callbacks.results_folder import ResultsWriter
from gpvae.metrics.task_table import COLUMNS, FILE_NAME, TaskTable
from gpvae.results.terminal import console, end_table, fits, task_table

_KEY = re.compile(r"(?P<metric>\w+)(?::(?P<variable>.+))?/(?:task_(?P<task>\d+)|seen)")


class TaskReport(ResultsWriter, Callback):
    """Writes `task_metrics.csv`, logs forgetting and backward transfer, and prints a table at the end.

    After each validation of a fit it reads `nlpd/task_01`, ..., `nlpd/seen` (and other metrics alike) from what the
    module logged, as the scores after `learned` tasks, a buffer of the module. Validations in the middle of a task
    (a module tells them by its buffer `begun`) are no scores after a task, and are not kept.

    `task_metrics.csv`, in the folder of the run, has the columns after_task, task, metric, value. Rows of a metric such
    as `nlpd_seen` are over the points of all tasks seen; their task repeats after_task. Where the module has scores of
    each variable, in `scores_by_variable`, they are rows of metrics such as `nlpd:t2m` and `nlpd_seen:t2m`.

    Args:
        print_table: Whether to print scores when the fit ends.
    """

    def __init__(self, print_table: bool = True) -> None:
        super().__init__()
        self.print_table = print_table
        self.table = TaskTable()

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics that there are scores of, NLPD first."""
        return self.table.metrics

    @property
    def variables(self) -> list[str]:
        """Names of the variables that there are scores of, one by one."""
        return self.table.variables

    def matrix(self, metric: str, variable: str = "") -> np.ndarray:
        """Scores `[after_task, task]`, both from 0; NaN above the diagonal.

        Args:
            metric: One of `metrics`.
            variable: One of `variables`; over all of them together if not given.
        """
        return self.table.matrix(metric, variable)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take in the scores after a task, and write and log them."""
        if trainer.sanity_checking or trainer.state.fn != TrainerFn.FITTING:
            return
        learned = pl_module.get_buffer("learned")
        begun = dict(pl_module.named_buffers(recurse=False)).get("begun", learned)
        after_task = int(learned)
        if after_task == 0 or int(begun) != after_task:
            return
        self._take_in({**trainer.callback_metrics, **getattr(pl_module, "scores_by_variable", {})}, after_task)
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

    def _take_in(self, scores: Mapping[str, Tensor], after_task: int) -> None:
        self.table.drop_after(after_task)
        for key, value in scores.items():
            match = _KEY.fullmatch(key)
            if match is None:
                continue
            metric, variable = match["metric"], match["variable"] or ""
            if match["task"] is None:
                self.table.set_seen(after_task, metric, float(value), variable)
            elif 1 <= int(match["task"]) <= after_task:
                self.table.set(after_task, int(match["task"]), metric, float(value), variable)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Print what came of it."""
        folder = self.results_folder(trainer)  # every process must ask
        if not (self.print_table and trainer.is_global_zero and self.metrics):
            return
        screen = console()
        first = self.metrics[0]
        tasks = task_table(self.matrix(first), self.table.seen(first))
        if fits(screen, tasks):
            screen.print(f"{first.upper()} on each task, after each task", tasks, sep="\n")
        else:
            screen.print(f"{self.table.num_tasks} tasks, too many for a table here: see {FILE_NAME}")
        ends = {metric: (self.table.seen(metric)[-1], self.table.forgetting(metric)) for metric in self.metrics}
        screen.print("After the last task", end_table(ends), sep="\n")
        if folder is not None:
            screen.print(f"Logs, scores and checkpoints are in {folder}", soft_wrap=True, highlight=False, markup=False)

    def state_dict(self) -> dict[str, Any]:
        """The scores so far, as plain lists."""
        rows = [(*key, value) for key, value in sorted(self.table.scores.items())]
        return {column: [row[i] for row in rows] for i, column in enumerate(COLUMNS)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from scores that `state_dict` gave."""
        self.table = TaskTable()
        for row in zip(*(state_dict[column] for column in COLUMNS), strict=True):
            self.table.set(*row)
