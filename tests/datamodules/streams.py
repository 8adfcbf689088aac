"""A stream for tests, and a model that writes down what it sees."""

from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor

from datamodules import Batch, MeasuredStream
from datamodules.splits import Task


class Made(MeasuredStream):
    """Points that a test hands over."""

    likelihood = "gaussian"
    interval = (0.0, 10.0)

    def __init__(self, x: Tensor, y: Tensor, **options: Any) -> None:
        super().__init__(**options)
        self.x, self.y = x, y
        self.input_dim = x.shape[1]  # type: ignore[misc]
        self.reads = 0

    def read(self) -> tuple[Tensor, Tensor]:
        self.reads += 1
        return self.x, self.y


class Witness(LightningModule):
    """Writes down the epoch and the points of each batch, and fits a mean meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
        self.trained: list[tuple[int, int, list[int]]] = []
        self.evaluated: list[tuple[int, int, int]] = []

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        self.trained.append((self.current_epoch, batch_idx, batch.index.tolist()))
        return (self.mean - batch.y).square().mean()

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> Tensor:
        self.evaluated.append((self.current_epoch, dataloader_idx, len(batch.y)))
        return self.mean - batch.y

    test_step = predict_step = validation_step

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


def trainer(**options: Any) -> Trainer:
    """A trainer without any output."""
    return Trainer(
        **{
            "accelerator": "cpu",
            "logger": False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "reload_dataloaders_every_n_epochs": 1,
            "num_sanity_val_steps": 0,
        }
        | options
    )


def assert_same_tasks(tasks: list[Task], others: list[Task]) -> None:
    """Bit for bit."""
    for one, other in zip(tasks, others, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(vars(one).values(), vars(other).values(), strict=True))
