"""The progress bar of a stream."""

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import RichProgressBar

from datamodules import TaskStream


class TaskProgress(RichProgressBar):
    """Lightning's progress bar, with the task in place of the version of the log."""

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Close the bar before results are printed."""
        super().on_train_end(trainer, pl_module)
        self.teardown(trainer, pl_module, stage="fit")

    def get_metrics(
        self, trainer: Trainer, pl_module: LightningModule
    ) -> dict[str, int | str | float | dict[str, float]]:
        """Return the metrics shown beside the bar."""
        metrics = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)
        stream = trainer.datamodule  # type: ignore[attr-defined]
        if not isinstance(stream, TaskStream):
            return metrics
        return {"task": f"{stream.task_of_epoch(trainer.current_epoch) + 1}/{stream.num_tasks}", **metrics}
