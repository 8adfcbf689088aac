"""Callbacks that save at every step, to resume from each of them, or stop in the midst."""

from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint


class SaveEveryStep(Checkpoint):
    """Saves `steps/step_001.ckpt`, ..., after every batch, those that end a task too.

    Args:
        folder: Where to save.
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
    """Ends a run as a power cut would: nothing is saved on the way out.

    Args:
        batches: After how many batches.
    """

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.batches = batches

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *args: Any) -> None:
        self.batches -= 1
        if self.batches == 0:
            raise Stopped
