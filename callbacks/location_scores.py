"""Scores at held-out locations, compared with interpolation from the locations seen."""

import csv
from collections.abc import Sequence
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor
from torch.distributions import Normal

from callbacks.continual import module_and_stream
from callbacks.evaluating import evaluating
from callbacks.results_folder import ResultsWriter
from datamodules.era5 import SeriesStream
from datamodules.era5.loader import SeriesBatch
from gpvae.metrics import Score, TaskScores, equal_mixture
from gpvae.modules import SVGPVAE
from gpvae.modules.series_module import METRICS
from gpvae.results import terminal
from gpvae.utils.atomic import replacing
from gpvae.vae.keyed_noise import Draws

FILE_NAME = "location_metrics.csv"
MODEL, NEAREST, WEIGHTED = "model", "nearest", "inverse_distance"
#: Number of locations for interpolation by the inverse square of distance.
NUM_NEIGHBOURS = 4


class LocationScores(ResultsWriter, Callback):
    """Scores the held-out hours of held-out locations when a fit ends, and writes `location_metrics.csv`.

    For comparison, the model's predictions at the locations seen are interpolated and scored too: from the nearest
    location, and from the four nearest, weighted by the inverse square of their distance.
    """

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Raise if the module cannot predict at locations never seen."""
        module, stream = module_and_stream(trainer, "LocationScores")
        held_out = isinstance(stream, SeriesStream) and stream.test_locations is not None
        if held_out and not (isinstance(module, SVGPVAE) and module.hparams["location_features"]):
            raise ValueError(
                "test_locations holds out locations, which only SVGPVAE with latents: field and location_features "
                "predicts: use these, or leave out test_locations"
            )

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Score, write and print."""
        module, stream = module_and_stream(trainer, "LocationScores")
        folder = self.results_folder(trainer)  # every process must ask
        if not isinstance(stream, SeriesStream) or stream.test_locations is None or not module.learned:
            return
        assert isinstance(module, SVGPVAE)
        scores = location_scores(module, stream, (trainer.global_rank, trainer.world_size))
        if not trainer.is_global_zero:
            return
        if folder is not None:
            with replacing(folder / FILE_NAME) as unfinished, unfinished.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["method", *Score._fields])
                writer.writerows((method, *score) for method, found in scores.items() for score in found)
        table = terminal.compact_table()
        for column in ("", *METRICS):
            table.add_column(column, justify="right" if column else "left")
        for method, found in scores.items():
            overall = {score.metric: score.value for score in found if score.task is None and not score.variable}
            table.add_row(method.replace("_", " "), *(terminal.format_short(overall[name]) for name in METRICS))
        title = f"At {stream.test_locations} locations never seen, by the model and by interpolation"
        terminal.console().print(title, table, sep="\n")


@torch.no_grad()
def location_scores(module: SVGPVAE, stream: SeriesStream, process: tuple[int, int] = (0, 1)) -> dict[str, list[Score]]:
    """Scores of all tasks learnt at held-out locations, of the model and of interpolation; all processes call this.

    Args:
        module: The module.
        stream: The stream, which holds out locations.
        process: Rank and number of processes.
    """
    held_out, locations, methods = stream.held_out_locations, module.vae.locations, (MODEL, NEAREST, WEIGHTED)
    assert held_out is not None
    assert locations is not None
    seen = (~held_out).nonzero()[:, 0]
    positions = locations.positions(torch.arange(len(held_out)))[:, :3].cpu()
    by_method = {name: TaskScores(METRICS, stream.num_variables).to(module.device) for name in methods}
    with evaluating(module):
        for scores in by_method.values():
            scores.reset(module.learned)
        for task in range(module.learned):
            for batch in stream.location_loader(task, *process):
                rows = batch.mask.flatten(1).any(1)
                if not rows.any():
                    continue
                series, times, y, mask = batch.series[rows], batch.times, batch.y[rows], batch.mask[rows]
                some = module.transfer_batch_to_device(SeriesBatch(series, times, y, mask), module.device, 0)
                distance = torch.cdist(positions[series], positions[seen])
                for name, predicted in _predictions(module, some, distance, seen).items():
                    predictive = equal_mixture(Normal(predicted[0][some.mask], predicted[1][some.mask]))
                    by_method[name].update(task, predictive, some.y[some.mask], module.variable_of(some))
        names = [variable.short_name for variable in stream.variables] if stream.num_variables > 1 else []
        return {name: scores.compute(module.learned, names) for name, scores in by_method.items()}


def _predictions(module: SVGPVAE, batch: SeriesBatch, distance: Tensor, seen: Tensor) -> dict[str, Sequence[Tensor]]:
    """Means and scales of the components of each prediction, `[B, T, V, N]`."""
    draws: dict[str, Any] = {"num_samples": module.num_samples, "draws": Draws(module.seed, "evaluate")}
    nearest, index = distance.topk(min(NUM_NEIGHBOURS, len(seen)), largest=False)
    needed, position = seen[index].unique(return_inverse=True)
    around = module.vae.decode_samples(batch.times, needed.to(batch.series.device), **draws)
    weights = nearest.clamp_min(1e-9).pow(-2)
    weights = (weights / weights.sum(-1, keepdim=True)).to(around[0])[..., None, None, None]
    return {
        MODEL: module.vae.decode_samples(batch.times, batch.series, **draws),
        NEAREST: [part[position[:, 0]] for part in around],
        WEIGHTED: [(weights * part[position]).sum(1) for part in around],
    }
