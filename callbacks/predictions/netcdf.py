"""Writes the predictions of `gpvae predict` for series to a netCDF file, in physical units."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import BasePredictionWriter
from torch import Tensor

from callbacks.predictions.cf_file import PredictionFile
from callbacks.predictions.summary import QUANTILES, check_finite, file_attributes, summarise_samples
from datamodules.era5 import SeriesStream
from gpvae.results.terminal import show
from gpvae.utils.atomic import process_name, publish, remove_leftovers

FILE_NAME = "predictions.nc"


class NetCDFPredictions(BasePredictionWriter):
    """Writes `predictions.nc`: mean, standard deviation and quantiles of every variable, in the units of the data.

    Samples are converted to these units and summarised batch by batch. Every process writes its batches to a temporary
    folder next to the file, and rank 0 merges them at the end, so memory holds only one batch or one variable.

    `Trainer.predict` also collects all samples that the module predicts, unless `return_predictions=False`.

    Args:
        folder: Folder to write to.
    """

    def __init__(self, folder: str) -> None:
        super().__init__("batch")
        self.folder = Path(folder)
        self._parts = self.folder

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Create the temporary folder, the same for all processes; remove those that killed ones have left."""
        _stream(trainer)
        self._parts = self.folder / trainer.strategy.broadcast(f".{FILE_NAME}.{process_name()}")
        self._parts.mkdir(parents=True, exist_ok=True)
        if trainer.is_global_zero:
            remove_leftovers(self.folder)

    def write_on_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        prediction: dict[str, Tensor],
        batch_indices: Sequence[int] | None,
        batch: Any,  # noqa: ANN401
        batch_idx: int,
        dataloader_idx: int,
    ) -> None:
        """Write the summary of the samples of a batch.

        `prediction` holds `series` `[B]`, `times` `[T]` in hours, and `samples` `[N, B, T, V]` on the model's scale.
        """
        samples = _stream(trainer).to_physical(prediction["samples"], prediction["series"])
        seconds = (3600 * prediction["times"]).round().long()
        name = f"{trainer.global_rank}_{dataloader_idx}_{batch_idx}"
        np.save(self._parts / f"{name}.npy", summarise_samples(samples.cpu().numpy()))
        np.savez(self._parts / f"{name}.npz", series=prediction["series"].cpu().numpy(), seconds=seconds.cpu().numpy())

    def on_predict_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Merge the batches of all processes into one file."""
        trainer.strategy.barrier("predictions")
        if not trainer.is_global_zero:
            return
        try:
            unfinished, stream = self._parts / FILE_NAME, _stream(trainer)
            num_times = write_file(unfinished, self._parts, stream, file_attributes(pl_module, stream.description))
            publish(unfinished, self.folder / FILE_NAME)
        finally:
            shutil.rmtree(self._parts, ignore_errors=True)
        counts = f"{stream.num_variables} variables at {stream.num_series} locations and {num_times} times"
        show(f"Predictions of {counts} are in {self.folder / FILE_NAME}")

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Remove the temporary folder."""
        if trainer.is_global_zero and self._parts != self.folder:
            shutil.rmtree(self._parts, ignore_errors=True)


def write_file(path: Path, parts: Path, stream: SeriesStream, attributes: dict[str, str]) -> int:
    """Write the file from the batches of all processes, one variable at a time.

    Args:
        path: The file.
        parts: Folder with the batches.
        stream: The stream that is predicted.
        attributes: Attributes of the file.

    Returns:
        The number of times in the file.

    Raises:
        RuntimeError: Some series were not predicted at some times.
        FloatingPointError: A prediction is not a number.
    """
    files = sorted(parts.glob("*.npy"))
    indices = []
    for file in files:
        with np.load(file.with_suffix(".npz")) as index:
            indices.append((index["series"], index["seconds"]))
    times = np.unique(np.concatenate([seconds for _, seconds in indices]))
    indexers = [np.ix_(series, np.searchsorted(times, seconds)) for series, seconds in indices]
    predicted = np.zeros((stream.num_series, len(times)), bool)
    for indexer in indexers:
        predicted[indexer] = True
    if not predicted.all():
        raise RuntimeError(
            f"{(~predicted).sum()} of {predicted.size} predictions are missing: predict without "
            "trainer.limit_predict_batches."
        )
    output = PredictionFile(path, stream.file_coordinates, seconds=times, quantiles=QUANTILES, attributes=attributes)
    with closing(output):
        for number, variable in enumerate(stream.variables):
            values = np.empty((2 + len(QUANTILES), *predicted.shape), np.float32)
            for file, indexer in zip(files, indexers, strict=True):
                values[:, *indexer] = np.load(file, mmap_mode="r")[number]
            check_finite(variable, values)
            output.write(variable, values[0], values[1], values[2:])
    return len(times)


def _stream(trainer: Trainer) -> SeriesStream:
    stream = trainer.datamodule  # type: ignore[attr-defined]
    if not isinstance(stream, SeriesStream):
        raise TypeError(f"NetCDFPredictions requires a datamodules.era5.SeriesStream, got {type(stream).__name__}")
    return stream
