"""Writes the predictions of `gpvae predict` for points to a csv file."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import BasePredictionWriter
from torch import Tensor

from datamodules import PointStream
from gpvae.results.terminal import show
from gpvae.utils.atomic import replacing

FILE_NAME = "predictions.csv"
Row = list[Any]


class PredictionTable(BasePredictionWriter):
    """Writes `predictions.csv`: task, inputs and target of each point, and the mean and standard deviation predicted.

    They are in the units of the data where the stream knows these, as `DataTable` does.

    Args:
        folder: Folder to write to.
    """

    def __init__(self, folder: str) -> None:
        super().__init__("epoch")
        self.folder = Path(folder)

    def write_on_epoch_end(
        self, trainer: Trainer, pl_module: LightningModule, predictions: Sequence[Any], batch_indices: Sequence[Any]
    ) -> None:
        """Gather the predictions of all processes, and write them sorted by task and inputs."""
        loaders = predictions if predictions and isinstance(predictions[0], list) else [predictions]
        stream = trainer.datamodule  # type: ignore[attr-defined]
        stream = stream if isinstance(stream, PointStream) else None
        rows = [
            row
            for task, batches in enumerate(loaders, start=1)
            for batch in batches
            for row in _rows(task, batch, stream)
        ]
        rows = _gather(rows)
        if not trainer.is_global_zero or not rows:
            return
        dims = [f"x{dim}" for dim in range(1, len(rows[0]) - 3)] if stream is None else stream.input_names
        with replacing(self.folder / FILE_NAME) as unfinished, unfinished.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["task", *dims, "y", "mean", "stddev"])
            writer.writerows([int(task), *values] for task, *values in sorted(rows))
        show(f"{len(rows)} predictions are in {self.folder / FILE_NAME}")


def _rows(task: int, batch: dict[str, Tensor], stream: PointStream | None) -> Iterator[Row]:
    batch = batch if stream is None else stream.to_physical(batch, task - 1)
    inputs = batch["x"].tolist() if stream is None else stream.input_values(batch["x"])
    columns = zip(inputs, *(batch[key].tolist() for key in ("y", "mean", "stddev")), strict=True)
    for x, *values in columns:
        yield [task, *x, *values]


def _gather(rows: list[Row]) -> list[Row]:
    if not (dist.is_available() and dist.is_initialized()):
        return rows
    gathered: list[list[Row]] = [[] for _ in range(dist.get_world_size())]
    dist.all_gather_object(gathered, rows)
    return [row for part in gathered for row in part]
