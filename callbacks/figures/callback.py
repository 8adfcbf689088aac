"""The callback that draws figures, logs them and saves them."""

from collections.abc import Iterator
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from matplotlib.figure import Figure

from callbacks.clock import timed
from callbacks.continual import module_and_stream
from callbacks.evaluating import evaluating
from callbacks.figures.compose import prediction_figures, score_figures
from callbacks.report import TaskReport
from callbacks.results_folder import ResultsWriter
from callbacks.tracking import log_image
from datamodules import TaskStream
from gpvae.modules import ContinualModule
from gpvae.plotting.canvas import render, save_png


class TaskFigures(ResultsWriter, Callback):
    """Draws predictions and scores for TensorBoard, and as PNG files in `figures/` of the run folder.

    It draws after the last task, because drawing a figure takes as long as many training steps.

    Predictions: along the stream for one input, the decision boundary for two inputs and labels 0 and 1, and
    reconstructions for many series. Scores of a `TaskReport`: the forgetting matrix of each metric and, after the last
    task, the skill of each variable, also against references, and how well tasks were foreseen. Figures that do not
    apply are left out. The order of callbacks does not matter.

    Args:
        enabled: Draw figures.
        every_n_tasks: Draw after every n-th task, too; null for the last task only.
        num_points: Number of grid points at which predictions are drawn; in the plane, a fifth of it along each axis.
        reconstruction: Draw the finite-basis reconstruction over the prediction, where the inducing variables have one.
        dpi: Resolution of the figures, in pixels per inch.
    """

    def __init__(
        self,
        enabled: bool = True,
        every_n_tasks: int | None = None,
        num_points: int = 500,
        reconstruction: bool = False,
        dpi: int = 150,
    ) -> None:
        super().__init__()
        for name, value, minimum in (
            ("every_n_tasks", every_n_tasks, 1),
            ("num_points", num_points, 10),
            ("dpi", dpi, 1),
        ):
            if value is not None and value < minimum:
                raise ValueError(f"{name} is at least {minimum}, got {value}")
        self.enabled = enabled
        self.every_n_tasks = every_n_tasks
        self.num_points = num_points
        self.reconstruction = reconstruction
        self.dpi = dpi
        self.drawn = 0  # number of tasks learnt when figures were last drawn

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse to fit a module or data without tasks."""
        if stage == "fit":
            module_and_stream(trainer, "TaskFigures")

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Draw the figures of a task if training was interrupted before them."""
        self.drawn = min(self.drawn, int(module_and_stream(trainer, "TaskFigures")[0].learned))
        self._draw_when_due(trainer)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Draw after validation, when other callbacks have their results."""
        self._draw_when_due(trainer)

    def state_dict(self) -> dict[str, Any]:
        """The number of tasks learnt when figures were last drawn."""
        return {"drawn": self.drawn}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue after the task that was drawn last."""
        self.drawn = state_dict["drawn"]

    def _draw_when_due(self, trainer: Trainer) -> None:
        module, stream = module_and_stream(trainer, "TaskFigures")
        learned = module.learned
        due = learned == stream.num_learnt or (self.every_n_tasks is not None and learned % self.every_n_tasks == 0)
        under_way = module.begun != learned
        if not self.enabled or learned <= self.drawn or not due or under_way:
            return
        self.drawn = learned
        folder = self.results_folder(trainer)  # every process must ask
        if not trainer.is_global_zero:
            return
        with timed(trainer, "drawing"), evaluating(module):
            for tag, name, figure in self._figures(trainer, module, stream):
                pixels = render(figure)
                for logger in trainer.loggers:
                    log_image(logger, tag, pixels, learned)
                if folder is not None:
                    save_png(pixels, folder / "figures" / f"{name}.png")

    def _figures(
        self, trainer: Trainer, module: ContinualModule, stream: TaskStream
    ) -> Iterator[tuple[str, str, Figure]]:
        """Tag, file name and figure of each figure that applies."""
        learned = module.learned
        for tag, figure in prediction_figures(module, stream, self.num_points, self.reconstruction, self.dpi):
            yield tag, f"{tag}_{learned:02d}", figure
        last = learned == stream.num_learnt
        for report in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(report, TaskReport):
                for tag, figure in score_figures(report.table, report.foresight, stream, last, self.dpi):
                    yield tag, tag.replace("/", "_"), figure
