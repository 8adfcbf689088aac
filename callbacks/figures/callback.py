"""When figures are drawn and where they go."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities.seed import isolate_rng
from matplotlib.figure import Figure
from numpy.typing import NDArray

from callbacks.clock import timed
from callbacks.figures.compose import Predictor, boundary_figure, forgetting_figure, stream_figure
from callbacks.figures.decision_boundary import are_labels
from callbacks.figures.reconstructions import reconstructions_figure
from callbacks.figures.reports import Report, ReportByVariable
from callbacks.figures.skill import skill_figure
from callbacks.results_folder import ResultsWriter
from datamodules.era5 import SeriesStream
from datamodules.splits import Task
from gpvae.plotting.canvas import render, save_png
from gpvae.vae.model import GPVAE

#: The grid over a plane has so many times fewer points along each axis than the grid over a line.
COARSER = 5


class TaskFigures(ResultsWriter, Callback):
    """Draw what the model knows after each task, for TensorBoard and as PNG files in `figures/` of the run.

    The stream where there is one input, the decision boundary where there are two and the targets are labels 0 and 1,
    reconstructions where there are many series; the forgetting matrix of every metric of the report and, at the end,
    the skill of each variable. What does not apply is left out. A task counts as learnt once the module's `learned`
    says so; the place of this callback among the others does not matter.

    Args:
        enabled: Draw figures.
        every_n_tasks: Draw after every so many tasks, and after the last one.
        num_points: Number of grid points along the line at which predictions are drawn; a fifth of it, along each
            axis, in the plane.
        reconstruction: Lay the finite-basis reconstruction over the prediction, where the inducing variables have one.
        dpi: Resolution of the figures, in pixels per inch.
    """

    def __init__(
        self,
        enabled: bool = True,
        every_n_tasks: int = 1,
        num_points: int = 500,
        reconstruction: bool = False,
        dpi: int = 150,
    ) -> None:
        super().__init__()
        for name, value, least in (
            ("every_n_tasks", every_n_tasks, 1),
            ("num_points", num_points, 10),
            ("dpi", dpi, 1),
        ):
            if value < least:
                raise ValueError(f"{name} is at least {least}, got {value}")
        self.enabled = enabled
        self.every_n_tasks = every_n_tasks
        self.num_points = num_points
        self.reconstruction = reconstruction
        self.dpi = dpi
        self.drawn = 0  # tasks that had been learnt when figures were last drawn

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Catch up where training was resumed between the end of a task and its figures."""
        self.drawn = min(self.drawn, _num_learned(pl_module))
        self._draw_when_due(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Draw, now that validation is over and every other callback has its results."""
        self._draw_when_due(trainer, pl_module)

    def state_dict(self) -> dict[str, Any]:
        """Which task was drawn last."""
        return {"drawn": self.drawn}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on after the task that was drawn last."""
        self.drawn = state_dict["drawn"]

    def _draw_when_due(self, trainer: Trainer, module: LightningModule) -> None:
        learned = _num_learned(module)
        tasks = _tasks(trainer)
        last = _last_task(trainer, tasks)
        due = learned % self.every_n_tasks == 0 or learned == last
        in_between = int(getattr(module, "begun", learned)) != learned  # the next task is under way
        if not self.enabled or learned <= self.drawn or not due or in_between:
            return
        self.drawn = learned
        folder = self.results_folder(trainer)  # every process must ask
        if not trainer.is_global_zero:
            return
        with timed(trainer, "drawing"), _undisturbed(module):
            for tag, name, figure in self._figures(trainer, module, tasks, learned):
                pixels = render(figure)
                for logger in trainer.loggers:
                    if isinstance(logger, TensorBoardLogger):
                        logger.experiment.add_image(tag, pixels, global_step=learned, dataformats="HWC")
                if folder is not None:
                    save_png(pixels, folder / "figures" / f"{name}.png")

    def _figures(
        self, trainer: Trainer, module: LightningModule, tasks: list[Task], learned: int
    ) -> Iterator[tuple[str, str, Figure]]:
        """Tag, file name and figure of all that applies."""
        data, vae = getattr(trainer, "datamodule", None), getattr(module, "vae", None)
        if tasks and hasattr(module, "predict") and all(task.y_train.ndim == 1 for task in tasks):
            predictor, input_dim = cast(Predictor, module), getattr(data, "input_dim", None)
            if input_dim == 1:
                figure = stream_figure(predictor, tasks, learned, self.num_points, self.reconstruction, self.dpi)
                yield "stream", f"stream_{learned:02d}", figure
            if input_dim == 2 and are_labels(tasks):
                figure = boundary_figure(predictor, tasks, learned, self.num_points // COARSER, self.dpi)
                yield "decision_boundary", f"decision_boundary_{learned:02d}", figure
        if isinstance(data, SeriesStream) and isinstance(vae, GPVAE):
            figure = reconstructions_figure(vae, data, learned, self.num_points, self.dpi)
            yield "reconstructions", f"reconstructions_{learned:02d}", figure
        num_tasks = len(tasks) or int(getattr(data, "num_tasks", 0))
        at_the_end = learned == _last_task(trainer, tasks)
        note = ", synthetic data" if getattr(data, "synthetic", False) else ""
        for report in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(report, Report):
                yield from self._scores(report, num_tasks, at_the_end, note)

    def _scores(self, report: Report, num_tasks: int, at_the_end: bool, note: str) -> Iterator[tuple[str, str, Figure]]:
        """Figures of the scores: of the first metric after each task, of all at the end."""
        for metric in report.metrics if at_the_end else report.metrics[:1]:  # the last matrices hold all rows
            matrix = _padded(report.matrix(metric), num_tasks)
            if np.isfinite(matrix).any():
                figure = forgetting_figure(matrix, metric, self.dpi, note)
                yield f"forgetting/{metric}", f"forgetting_{metric}", figure
        if at_the_end and isinstance(report, ReportByVariable) and report.variables:
            yield "skill", "skill", skill_figure(report, note, self.dpi)


def _num_learned(module: LightningModule) -> int:
    return int(getattr(module, "learned", 0))


def _last_task(trainer: Trainer, tasks: list[Task]) -> int:
    """How many tasks are learnt in all."""
    return int(getattr(getattr(trainer, "datamodule", None), "num_learnt", len(tasks)))


def _tasks(trainer: Trainer) -> list[Task]:
    """The stream of the datamodule; empty where it has none of this kind."""
    tasks = getattr(getattr(trainer, "datamodule", None), "tasks", [])
    return list(tasks) if all(isinstance(task, Task) for task in tasks) else []


def _padded(matrix: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The matrix with room for the tasks to come, so that figures of different tasks can be laid side by side."""
    missing = [(0, max(size - length, 0)) for length in matrix.shape]
    return np.pad(np.asarray(matrix, dtype=np.float64), missing, constant_values=np.nan)


@contextmanager
def _undisturbed(module: LightningModule) -> Iterator[None]:
    """Look at a module in evaluation mode and leave it, and all random states, as they were."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        with torch.no_grad(), isolate_rng():
            yield
    finally:
        for part, training in modes:
            part.training = training
