"""Writes the predictions of `gpvae predict` for series to a netCDF file, in physical units."""

import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import BasePredictionWriter
from numpy.typing import NDArray
from rich import print as rich_print
from torch import Tensor

from callbacks.predictions.cf_file import Floats, PredictionFile
from datamodules.era5 import SeriesStream
from datamodules.era5.synthetic.sample import NOTE
from gpvae import __version__
from gpvae.utils.atomic import publish

FILE_NAME = "predictions.nc"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class NetCDFPredictions(BasePredictionWriter):
    """Writes `predictions.nc`: mean, standard deviation and quantiles of every variable, in the units of ERA5.

    Samples are converted to these units and summarised batch by batch. Every process writes its batches to a temporary
    folder beside the file, and rank 0 merges them at the end; so memory holds one batch, or one variable.

    `Trainer.predict` also collects all samples that the module predicts, unless `return_predictions=False`.

    Args:
        folder: Folder to write to.
    """

    def __init__(self, folder: str) -> None:
        super().__init__("batch")
        self.folder = Path(folder)
        self._parts = self.folder

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Create the temporary folder, the same for all processes."""
        _stream(trainer)
        self._parts = self.folder / trainer.strategy.broadcast(f".{FILE_NAME}.{os.getpid()}")
        self._parts.mkdir(parents=True, exist_ok=True)

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
            num_times = write_file(unfinished, self._parts, stream, file_attributes(pl_module, stream))
            publish(unfinished, self.folder / FILE_NAME)
        finally:
            shutil.rmtree(self._parts, ignore_errors=True)
        counts = f"{stream.num_variables} variables at {stream.num_series} locations and {num_times} times"
        rich_print(f"Predictions of {counts} are in {self.folder / FILE_NAME}")

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Remove the temporary folder."""
        if trainer.is_global_zero and self._parts != self.folder:
            shutil.rmtree(self._parts, ignore_errors=True)


def summarise_samples(samples: NDArray[np.float64]) -> Floats:
    """Return mean, standard deviation and quantiles of samples `[N, B, T, V]`, as `[V, 2 + Q, B, T]`."""
    # A new value is below the Weibull estimate with exactly that probability, for any number of samples.
    quantiles = np.quantile(samples, QUANTILES, axis=0, method="weibull")
    parts = np.concatenate([samples.mean(0)[None], samples.std(0)[None], quantiles])
    return np.ascontiguousarray(np.moveaxis(parts, -1, 0), dtype=np.float32)


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
            if not np.isfinite(values).all():
                raise FloatingPointError(
                    f"predictions of {variable.short_name} ({variable.name}) are not finite: train the model with "
                    "a lower lr."
                )
            output.write(variable, values[0], values[1], values[2:])
    return len(times)


def file_attributes(module: LightningModule, stream: SeriesStream) -> dict[str, str]:
    """Return the global attributes of the file.

    Args:
        module: The module that predicts.
        stream: The stream that is predicted.
    """
    names = [name for name in ("method", "num_inducing", "num_samples") if name in module.hparams]
    options = ", ".join(f"{name}={module.hparams[name]}" for name in names)
    learned = int(module.learned) if isinstance(module.learned, Tensor) else 0
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    attributes = {
        "title": f"Predictions of {stream.num_variables} variables at {stream.num_series} locations",
        "source": f"{type(module).__name__}({options}) after {learned} of {stream.num_tasks} tasks of "
        f"{type(stream).__name__}",
        "history": f"{now} gpvae {__version__}: predict",
    }
    if stream.synthetic:
        attributes |= {"title": f"{attributes['title']} of SYNTHETIC weather", "synthetic": NOTE}
    return attributes


def _stream(trainer: Trainer) -> SeriesStream:
    stream = trainer.datamodule  # type: ignore[attr-defined]
    if not isinstance(stream, SeriesStream):
        raise TypeError(f"NetCDFPredictions requires a datamodules.era5.SeriesStream, got {type(stream).__name__}")
    return stream
