"""The callback that collects the scores of each task after each task, writes, logs and prints them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor

from callbacks.comparison import Comparison
from callbacks.continual import continual_module
from callbacks.results_folder import ResultsWriter
from callbacks.tracking import ADDRESS, lay_out, log_end, log_table
from datamodules import TaskStream
from datamodules.era5 import SeriesStream
from gpvae.metrics import ForesightCell, ForesightTable, Score, TaskTable, describe, foresight_table
from gpvae.metrics.task_table import COLUMNS, FILE_NAME, OLD_COLUMNS, upgrade
from gpvae.modules import ContinualModule
from gpvae.modules.base import log_name
from gpvae.results import location_table, terminal


class TaskReport(ResultsWriter, Callback):
    """Writes `task_metrics.csv` and `foresight.csv`, logs forgetting and skill, and prints tables at the end.

    After each validation of a fit that ends a task it adds the module's `last_scores`, and compares the predictions
    with references. Validations in the middle of a task are not scores after a task, and are ignored.

    `task_metrics.csv`, in the run folder, has the columns after_task, task, metric, variable and value. A row without a
    task is over the points of all tasks seen, a row without a variable over all variables. `foresight.csv` has
    prequential scores: how well each task was predicted before it was learnt, by lead time. `skill_by_location.csv` has
    the scores of every location after the last task, for series.

    Args:
        print_table: Whether to print scores when the fit ends.
        compare: Whether to compare predictions with climatology, persistence and the mean of what the stream has shown.
    """

    def __init__(self, print_table: bool = True, compare: bool = True) -> None:
        super().__init__()
        self.print_table, self.compare = print_table, compare
        self._laid_out = False
        self.table, self.foresight = TaskTable(), ForesightTable()
        self._comparison: Comparison | None = None

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

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Discard the errors of an earlier validation."""
        if (comparison := self._comparison_for(trainer)) is not None:
            comparison.begin(len(trainer.num_val_batches))

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Tensor | Mapping[str, Any] | None,
        batch: Any,  # noqa: ANN401
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Compare the predictions of a batch with references."""
        module, comparison = continual_module(pl_module, "TaskReport"), self._comparison_for(trainer)
        if comparison is not None and _after_a_task(trainer, module) and isinstance(outputs, Mapping):
            comparison.catch_up(module.learned)
            comparison.add(dataloader_idx, batch, outputs["predictive"])

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add the scores after a task, and write and log them."""
        module, comparison = continual_module(pl_module, "TaskReport"), self._comparison_for(trainer)
        if not _after_a_task(trainer, module):
            return
        after_task = module.learned
        self.table.drop_after(after_task)
        compared = [] if comparison is None else comparison.scores(module)
        locations = [] if comparison is None else comparison.locations(module)
        for score in (*module.last_scores, *compared):
            self.table.add(score)
        folder = self.results_folder(trainer)  # every process must ask
        if not trainer.is_global_zero:
            return
        if folder is not None:
            self.table.write(folder / FILE_NAME)
            if locations:
                location_table.write_locations(locations, folder / location_table.FILE_NAME)
            if self.foresight.tasks:  # a run that was resumed elsewhere has them from its checkpoint
                self.foresight.write(folder / foresight_table.FILE_NAME)
        changes = {name: score.value for score in compared if (name := log_name(score)) is not None}
        for metric in self.metrics:
            forgetting = self.table.forgetting(metric)
            if not math.isnan(forgetting):
                changes |= {f"{metric}/forgetting": forgetting, f"{metric}/backward_transfer": -forgetting}
        _log(trainer, changes, after_task)
        if not self._laid_out:
            metrics = [metric for metric in self.metrics if np.isfinite(self.matrix(metric)).any()]
            for logger in trainer.loggers:
                lay_out(logger, metrics, trainer.callback_metrics.keys())
            self._laid_out = True

    def on_task_foreseen(self, trainer: Trainer, module: ContinualModule, task: int) -> None:
        """Add prequential scores of a task that is to begin, and write and log them.

        Args:
            trainer: The trainer.
            module: The module, which has scored its predictions.
            task: Index of the task, from 0.
        """
        self.foresight.drop_after(task)
        if not module.last_foresight:
            return
        self.foresight.add(module.last_foresight)
        if (comparison := self._comparison_for(trainer)) is not None:
            comparison.catch_up(task)
            self.foresight.add(comparison.foreseen(module, task))
        folder = self.results_folder(trainer)  # every process must ask
        if not trainer.is_global_zero:
            return
        if folder is not None:
            self.foresight.write(folder / foresight_table.FILE_NAME)
        scores = (
            self.foresight.score(metric, task + 1, lead)
            for metric in self.foresight.metrics
            for lead in (*self.foresight.leads, "")
        )
        named = {f"foresight_{score.metric}/{score.lead or 'all'}": score for score in scores if score.num_values}
        _log(trainer, {name: score.value for name, score in named.items()}, task + 1)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the final scores, and print a summary."""
        folder = self.results_folder(trainer)  # every process must ask
        if trainer.is_global_zero and self.metrics:
            self._log_end(trainer, pl_module)
        if not (self.print_table and trainer.is_global_zero and self.metrics):
            return
        screen = terminal.console()
        first = self.metrics[0]
        tasks = terminal.task_table(self.matrix(first), self.table.seen(first))
        if terminal.fits(screen, tasks):
            screen.print(f"{describe(first).label} on each task, after each task", tasks, sep="\n")
        else:
            screen.print(f"{self.table.num_tasks} tasks, too many for a table here: see {FILE_NAME}")
        ends = {metric: (self.table.seen(metric)[-1], self.table.forgetting(metric)) for metric in self.metrics}
        known = {metric: scores for metric, scores in ends.items() if not math.isnan(scores[0])}
        screen.print("After the last task", terminal.end_table(known), sep="\n")
        stream = getattr(trainer, "datamodule", None)
        if isinstance(stream, SeriesStream) and self.variables and "rmse_physical" in self.metrics:
            units = {variable.short_name: variable.units for variable in stream.variables}
            screen.print("Held-out hours, by variable", terminal.units_table(self.table, units), sep="\n")
        if self.foresight.tasks:
            unit = "hours" if isinstance(stream, SeriesStream) else "points"
            title = f"Before each task was learnt, by how many {unit} ahead: mean over tasks"
            screen.print(title, terminal.lead_table(self.foresight), sep="\n")
        if folder is not None:
            screen.print(f"Logs, scores and checkpoints are in {folder}", soft_wrap=True, highlight=False)
        if board := next((logger for logger in trainer.loggers if isinstance(logger, TensorBoardLogger)), None):
            text = f"Charts: tensorboard --logdir {board.save_dir}, then {ADDRESS}"
            screen.print(text, soft_wrap=True, highlight=False, markup=False)

    def _log_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Give every logger the final scores, as a table of tasks and next to the options of the run."""
        stream, learned = getattr(trainer, "datamodule", None), self.table.num_tasks
        options = {"model": type(module).__name__, "data": type(stream).__name__, **dict(module.hparams)}
        options |= {f"data.{name}": value for name, value in dict(getattr(stream, "hparams", {})).items()}
        scores = {f"end/{metric}": float(self.table.seen(metric)[-1]) for metric in self.metrics}
        scores |= {f"end/{metric}_forgetting": self.table.forgetting(metric) for metric in self.metrics}
        known = {name: value for name, value in scores.items() if not math.isnan(value)}
        matrix = self.matrix(self.metrics[0])
        columns = ["after task", *(f"task {j + 1}" for j in range(matrix.shape[1]))]
        rows = [[i + 1, *("" if math.isnan(v) else f"{v:.3f}" for v in row)] for i, row in enumerate(matrix.tolist())]
        for logger in trainer.loggers:
            log_table(logger, f"{self.metrics[0]}_of_tasks", columns, rows, learned)
            log_end(logger, options, known, learned)

    def state_dict(self) -> dict[str, Any]:
        """The scores so far, as a list for each column, and the rows of foresight."""
        columns = _columns(COLUMNS, self.table.rows())
        return {**columns, "foresight": _columns(ForesightCell._fields, self.foresight.rows())}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load scores from a checkpoint, in the present layout or the previous one without a column for variables."""
        old = "variable" not in state_dict
        rows = zip(*(state_dict[column] for column in (OLD_COLUMNS if old else COLUMNS)), strict=True)
        self.table = TaskTable((upgrade if old else Score)(*row) for row in rows)
        foreseen = state_dict.get("foresight", {})  # not in checkpoints of earlier versions
        cells = zip(*(foreseen.get(field, []) for field in ForesightCell._fields), strict=True)
        self.foresight = ForesightTable(ForesightCell(*cell) for cell in cells)

    def _comparison_for(self, trainer: Trainer) -> Comparison | None:
        """The comparison for the stream of the trainer, if there is one to compare."""
        stream = getattr(trainer, "datamodule", None)
        if not self.compare or trainer.state.fn != TrainerFn.FITTING or not isinstance(stream, TaskStream):
            return None
        if self._comparison is None or self._comparison.stream is not stream:
            self._comparison = Comparison(stream)
        return self._comparison


def _after_a_task(trainer: Trainer, module: ContinualModule) -> bool:
    """Whether this is a validation of a fit, and the present task has ended."""
    fitting = trainer.state.fn == TrainerFn.FITTING and not trainer.sanity_checking
    return fitting and 0 < module.learned == module.begun


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _log(trainer: Trainer, values: dict[str, float], step: int) -> None:
    if values:
        for logger in trainer.loggers:
            logger.log_metrics(values, step=step)
