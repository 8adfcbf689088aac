"""A run that is interrupted and resumed trains on exactly the batches that were left."""

from pathlib import Path

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from datamodules import Toy
from tests.datamodules.streams import Witness, trainer

# torch 2.13 warns of how Lightning 2.6 walks through nested lists.
pytestmark = pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec")


class SaveAfterBatch(Callback):
    """Writes a checkpoint after so many batches of the whole run."""

    def __init__(self, num: int, path: Path) -> None:
        self.left, self.path = num, path

    def on_train_batch_end(self, trainer: Trainer, *args: object) -> None:
        self.left -= 1
        if self.left == 0:
            trainer.save_checkpoint(self.path)


class SaveAfterEpoch(Callback):
    """Writes a checkpoint at the end of an epoch."""

    def __init__(self, epoch: int, path: Path) -> None:
        self.epoch, self.path = epoch, path

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.current_epoch == self.epoch:
            trainer.save_checkpoint(self.path)


def run(callbacks: list[Callback], checkpoint: Path | None = None) -> Witness:
    """Three tasks in two epochs of four batches each."""
    stream, model = Toy(batch_size=25, steps_per_epoch=4, epochs_per_task=2), Witness()
    trainer(max_epochs=stream.num_epochs, callbacks=callbacks).fit(model, stream, ckpt_path=checkpoint)
    return model


@pytest.mark.parametrize("num", [1, 3, 4, 5, 8, 11, 23])
def test_after_a_batch(num: int, tmp_path: Path) -> None:
    whole = run([SaveAfterBatch(num, tmp_path / "model.ckpt")])
    rest = run([], tmp_path / "model.ckpt")
    assert len(whole.trained) == 24
    assert rest.trained == whole.trained[num:]
    assert torch.equal(rest.mean, whole.mean)


@pytest.mark.parametrize("epoch", [0, 1, 4])
def test_after_an_epoch(epoch: int, tmp_path: Path) -> None:
    whole = run([SaveAfterEpoch(epoch, tmp_path / "model.ckpt")])
    rest = run([], tmp_path / "model.ckpt")
    assert rest.trained == whole.trained[4 * (epoch + 1) :]
    assert torch.equal(rest.mean, whole.mean)
