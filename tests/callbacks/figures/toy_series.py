"""Synthetic series of a few variables, some with missing values, and a small GP-VAE that learns them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.loggers import TensorBoardLogger

from callbacks import ContinualLearning
from datamodules.era5 import SeriesStream
from datamodules.era5.fields import Fields
from datamodules.era5.variables import describe
from gpvae.modules import SVGPVAE

NAMES = ("d2m", "t2m", "msl", "tp", "ssrd", "swvl1")
#: Mean and standard deviation of each variable, in the units of files.
LEVEL = np.array([275.0, 280.0, 101_000.0, 2e-4, 5e5, 0.3])
SPREAD = np.array([3.0, 4.0, 900.0, 1e-4, 2e5, 0.05])


class ToySeries(SeriesStream):
    """Waves; the second series lacks swvl1, and the first lacks d2m in the second task."""

    locations = ((52.0, 359.0), (53.5, 0.5), (-12.25, 140.0))
    names: tuple[str, ...] = NAMES

    @contextmanager
    def open(self) -> Iterator[Fields]:
        num_hours = self.num_hours
        hours = np.arange(num_hours, dtype=np.float64)
        rng = np.random.default_rng(0)
        phase = rng.uniform(0, 6, (len(self.locations), 1, len(NAMES)))
        waves = np.sin(hours[:, None] / 5 + phase) + 0.2 * rng.normal(size=(len(self.locations), num_hours, len(NAMES)))
        values = LEVEL + SPREAD * waves
        values[1:2, :, 5] = np.nan
        values[0, self.hours_per_task : 2 * self.hours_per_task, 0] = np.nan
        latitude, longitude = np.array(self.locations).T
        kept = [NAMES.index(name) for name in self.names]
        variables = tuple(describe(name) for name in self.names)
        origin = np.datetime64("2020-02-27T06:00", "ns")
        chosen = values[..., kept].astype(np.float32)
        yield Fields(variables, lambda first, before: chosen[:, first:before], hours, origin, latitude, longitude)


def toy_series(num_tasks: int = 2, **options: Any) -> ToySeries:
    return ToySeries(num_tasks=num_tasks, hours_per_task=30, epochs_per_task=1, **options)


def small_model(num_variables: int = len(NAMES), **options: Any) -> SVGPVAE:
    return SVGPVAE(
        **{"num_inducing": 6, "num_variables": num_variables, "latent_dim": 3, "hidden_dim": 8, "num_samples": 20},
        **options,
    )


def learn(folder: Path, module: SVGPVAE, stream: SeriesStream, *callbacks: Callback) -> Trainer:
    """Learn a stream and log to a folder."""
    trainer = Trainer(
        accelerator="cpu",
        callbacks=[ContinualLearning(), *callbacks],
        logger=TensorBoardLogger(folder, name="", version=""),
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **stream.trainer_options,
    )
    trainer.fit(module, datamodule=stream)
    return trainer
