"""The data of one training step of a GP-VAE."""

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gpvae.utils.distributed import num_processes, sum_over_processes
from gpvae.vae.field import Field
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.location_field import LocationField
from gpvae.vae.replay import Replay
from gpvae.vae.task import SeriesTask


class Step(NamedTuple):
    """The data of a step.

    Attributes:
        task: The task.
        series: Series of the posterior, `[B]`; a field has only one.
        times: `[T]`.
        y: Values that the encoder reads, `[B, T, V]`.
        mask: Which of them are observed.
        locations: The series or locations that the decoder writes.
        sample_of: For a field, the values of these locations; see `GPVAE.bound`.
        num_values: Number of values that the bound covers.
        num_locations: Number of locations.
    """

    task: SeriesTask
    series: Tensor
    times: Tensor
    y: Tensor
    mask: Tensor
    locations: Tensor
    sample_of: tuple[Tensor, Tensor, Tensor] | None
    num_values: Tensor
    num_locations: Tensor

    @classmethod
    def of(cls, task: SeriesTask, series: Tensor, times: Tensor, y: Tensor, mask: Tensor) -> "Step":
        """The step for a batch of series: these series, the whole field, or a sample of the locations of a field.

        Gradients are averaged over processes with different series, so counts are averaged over processes too.
        """
        field = task.vae.field
        if isinstance(field, Field):
            series, times, (y, mask) = task.series, task.times, next(task.chunks())
        counts = sum_over_processes(torch.stack([mask.sum(), torch.full_like(mask.sum(), len(series))]))
        num_values, num_series = counts.clamp_min(1) / num_processes()
        if not isinstance(field, LocationField):
            return cls(task, series, times, y, mask, series, None, num_values, num_series)
        sample_of = y, mask, field.num_values / num_values
        whole = task.series, task.times, *next(task.chunks())
        return cls(task, *whole, series, sample_of, field.num_values, num_series)

    def bound(self, draws: Draws, left_out: float) -> Tensor:
        """The bound per value.

        Args:
            draws: The random numbers.
            left_out: Share of the times that the encoder does not see.
        """
        features, past = self.task.features_and_past(self.times, self.series)
        noise = self.task.vae.noise(features, self.series, draws)
        seen = self.mask & ~draws.chosen(len(self.times), left_out).to(self.mask.device)[:, None]
        where: dict[str, Any] = {"series": self.locations, "sample_of": self.sample_of}
        bound = self.task.vae.bound(features, past, self.y, self.mask, noise, seen=seen, **where)
        return bound.sum() / self.num_values

    def disagreement(self, replay: Replay, draws: Draws) -> Tensor:
        """The mean KL between the outputs of the previous decoder and the present one for past latents.

        Args:
            replay: The previous decoder, with past latents.
            draws: The random numbers.
        """
        vae = self.task.vae
        place = partial(vae.place, series=self.locations)
        return replay(vae.decoder, self.series, draws, place).sum() / self.num_locations
