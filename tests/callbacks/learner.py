"""A module with predefined scores, for tests of reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.loggers import CSVLogger, Logger
from torch.utils.data import DataLoader

from gpvae.metrics import Score
from gpvae.modules import ContinualModule

#: Scores on the tasks (columns) after each of them (rows).
NLPD = np.array([[1.0, 0, 0], [1.5, 2.0, 0], [2.0, 2.25, 1 / 3]])
ACCURACY = np.array([[0.75, 0, 0], [0.5, 1, 0], [0.5, 1, 1]])


class Learner(ContinualModule):
    """Learns one task in each epoch, and has predefined scores."""

    def __init__(self, scores: dict[str, np.ndarray]) -> None:
        super().__init__(list(scores))
        self.given = scores
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.late = False  # whether the task is consolidated only after its validation

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        self.begun = self.current_epoch + 1
        return self.weight**2

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_validation_start(self) -> None:
        if not (self.trainer.sanity_checking or self.late):
            self.learned = self.begun

    def validation_step(self, batch: torch.Tensor, batch_idx: int) -> None:
        pass

    def on_validation_epoch_end(self) -> None:
        row = max(int(self.begun), 1) - 1
        self.last_scores = []
        for metric, scores in self.given.items():
            self.last_scores += [Score(row + 1, task + 1, metric, "", scores[row, task]) for task in range(row + 1)]
            self.last_scores.append(Score(row + 1, None, metric, "", scores[row, : row + 1].mean()))
        self.log("loss", torch.tensor(0.0))


def learn(
    folder: Path,
    callback: Callback | None = None,
    num_tasks: int = 3,
    module: Learner | None = None,
    num_processes: int = 1,
    loggers: Sequence[Logger] = (),
    **options: Any,
) -> Trainer:
    data = DataLoader(torch.zeros(1))
    trainer = Trainer(
        max_epochs=num_tasks,
        accelerator="cpu",
        devices=num_processes,
        strategy="ddp" if num_processes > 1 else "auto",
        logger=[
            CSVLogger(folder / "run", name="", version=""),
            CSVLogger(folder / "other", name="", version=""),
            *loggers,
        ],
        callbacks=[] if callback is None else [callback],
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        log_every_n_steps=1,
    )
    trainer.fit(module or Learner({"nlpd": NLPD, "accuracy": ACCURACY}), data, data, **options)
    return trainer
