"""A module with predefined scores, for tests of reports."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader

from callbacks.report import TaskReport

#: Scores on the tasks (columns) after each of them (rows).
NLPD = np.array([[1.0, 0, 0], [1.5, 2.0, 0], [2.0, 2.25, 1 / 3]])
ACCURACY = np.array([[0.75, 0, 0], [0.5, 1, 0], [0.5, 1, 1]])


class Learner(LightningModule):
    """Learns one task in each epoch, and logs predefined scores."""

    def __init__(self, scores: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.scores = scores
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.register_buffer("begun", torch.zeros((), dtype=torch.int64))
        self.register_buffer("learned", torch.zeros((), dtype=torch.int64))
        self.late = False  # whether the task is consolidated only after its validation

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        self.begun.fill_(self.current_epoch + 1)
        return self.weight**2

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_validation_start(self) -> None:
        if not (self.trainer.sanity_checking or self.late):
            self.learned.copy_(self.begun)

    def validation_step(self, batch: torch.Tensor, batch_idx: int) -> None:
        pass

    def on_validation_epoch_end(self) -> None:
        row = max(int(self.begun), 1) - 1
        for metric, scores in self.scores.items():
            for task in range(row + 1):
                self.log(f"{metric}/task_{task + 1:02d}", torch.tensor(scores[row, task]))
            self.log(f"{metric}/seen", torch.tensor(scores[row, : row + 1].mean()))
        self.log("loss", torch.tensor(0.0))


def learn(
    folder: Path,
    report: TaskReport,
    num_tasks: int = 3,
    module: Learner | None = None,
    num_processes: int = 1,
    **options: Any,
) -> Trainer:
    data = DataLoader(torch.zeros(1))
    trainer = Trainer(
        max_epochs=num_tasks,
        accelerator="cpu",
        devices=num_processes,
        strategy="ddp" if num_processes > 1 else "auto",
        logger=[CSVLogger(folder / "run", name="", version=""), CSVLogger(folder / "other", name="", version="")],
        callbacks=[report],
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        log_every_n_steps=1,
    )
    trainer.fit(module or Learner({"nlpd": NLPD, "accuracy": ACCURACY}), data, data, **options)
    return trainer
