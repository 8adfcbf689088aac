"""Callbacks that save at every step, or stop a run in the middle of a task."""

from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint


class SaveEveryStep(Checkpoint):
    """Saves `steps/step_001.ckpt`, ..., after every batch, including the last of a task.

    Args:
        folder: Folder to save to.
    """

    def __init__(self, folder: str = "steps") -> None:
        super().__init__()
        self.folder, self.count = folder, 0

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *args: Any) -> None:
        self.count += 1
        trainer.save_checkpoint(f"{self.folder}/step_{self.count:03d}.ckpt")

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        trainer.save_checkpoint(f"{self.folder}/evaluated_{self.count:03d}.ckpt")


class Stopped(Exception):
    """The run was stopped."""


class StopAfter(Callback):
    """Ends a run without saving anything, like a power cut.

    Args:
        batches: Number of batches before the end.
    """

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.batches = batches

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *args: Any) -> None:
        self.batches -= 1
        if self.batches == 0:
            raise Stopped
