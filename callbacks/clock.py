"""Measures how long a run learns, scores, draws and saves, task by task."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from callbacks.continual import continual_module
from callbacks.results_folder import ResultsWriter
from gpvae.results.task_times import FILE_NAME, Activity, write_times


class TaskClock(ResultsWriter, Callback):
    """Writes `task_times.csv` in the run folder: wall-clock seconds of each task, by activity.

    Every second of training belongs to one activity of the present task: scoring is validation, drawing and saving are
    what other callbacks do within `timed`, and learning is the rest. A resumed run continues from the times in
    its checkpoint.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds: defaultdict[tuple[int, Activity], float] = defaultdict(float)
        self._since: float | None = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock."""
        self._since = perf_counter()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop learning."""
        self.stop("learning", pl_module)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop scoring."""
        self.stop("scoring", pl_module)

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the times of the previous task, which are complete after its last checkpoint."""
        self.stop("learning", pl_module)
        self._write(trainer, pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the times of the last task."""
        self.stop("learning", pl_module)
        self._write(trainer, pl_module)
        self._since = None

    def stop(self, activity: Activity, module: LightningModule) -> None:
        """Attribute the time since the last stop to an activity of the present task."""
        if self._since is None:
            return
        now, begun = perf_counter(), int(continual_module(module, "TaskClock").begun)
        self.seconds[max(1, begun), activity] += now - self._since
        self._since = now

    def _write(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write once a task has been learnt."""
        module = continual_module(pl_module, "TaskClock")
        if not 0 < module.learned == module.begun:  # alike on all processes
            return
        folder = self.results_folder(trainer)  # every process must ask
        if folder is not None and trainer.is_global_zero:
            write_times(self.seconds, folder / FILE_NAME)

    def state_dict(self) -> dict[str, Any]:
        """The seconds so far."""
        return {"seconds": [(*key, value) for key, value in self.seconds.items()]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the seconds of a checkpoint."""
        self.seconds.clear()
        self.seconds.update({(task, activity): value for task, activity, value in state_dict["seconds"]})


@contextmanager
def timed(trainer: Trainer, activity: Activity) -> Iterator[None]:
    """Count the time within as an activity, if the trainer has a `TaskClock`.

    Args:
        trainer: The trainer.
        activity: What is done within.
    """
    clock = next((callback for callback in trainer.callbacks if isinstance(callback, TaskClock)), None)  # type: ignore[attr-defined]
    if clock is not None:
        clock.stop("learning", trainer.lightning_module)
    try:
        yield
    finally:
        if clock is not None:
            clock.stop(activity, trainer.lightning_module)
