"""The data of one training step of a GP-VAE."""

import math
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import torch
from torch import Tensor

from gpvae.utils.distributed import num_processes, sum_over_processes
from gpvae.vae.field import Field
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.location_field import LocationField
from gpvae.vae.replay import Replay
from gpvae.vae.task import SeriesTask


class StepNoise(NamedTuple):
    """The random numbers of a step, from a single draw.

    Attributes:
        latents: Standard normal draws for the latents, `[B, L, K, T]`.
        shown: Which times the encoder sees, `[B, T, 1]`; None for all.
        replay: Standard normal draws for replay, `[B, *noise_shape]`; None without replay.
    """

    latents: Tensor
    shown: Tensor | None
    replay: Tensor | None


class Step(NamedTuple):
    """The data of a step.

    Attributes:
        task: The task.
        series: Series of the posterior, `[B]`, on the device of the task's steps; a field has only one.
        times: `[T]`.
        y: Values that the encoder reads, `[B, T, V]`.
        mask: Which of them are observed.
        locations: The series or locations that the decoder writes, on the device of the model.
        sample_of: For a field, the values of these locations; see `GPVAE.step`.
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
    num_locations: Tensor | int

    @classmethod
    def of(cls, task: SeriesTask, series: Tensor, times: Tensor, y: Tensor, mask: Tensor) -> "Step":
        """The step for a batch of series: these series, the whole field, or a sample of the locations of a field.

        Gradients are averaged over processes with different series, so counts are averaged over processes too.
        """
        field = task.vae.field
        if isinstance(field, Field):
            times, (series, y, mask) = task.times, task.whole
        num_values: Tensor = mask.sum()
        num_series: Tensor | int = len(series)
        if num_processes() > 1:
            counts = sum_over_processes(torch.stack([num_values, torch.full_like(num_values, len(series))]))
            num_values, num_series = counts / num_processes()
        num_values = num_values.clamp_min(1 / num_processes())
        own, y, mask = (part.to(task.device) for part in (series, y, mask))
        if not isinstance(field, LocationField):
            return cls(task, own, times, y, mask, series, None, num_values, num_series)
        sample_of = y, mask, field.num_values / num_values
        whole, y, mask = task.whole
        all_values = field.num_values.long()  # a whole number, which leaves the type of the bound as it is
        return cls(task, whole, task.times, y, mask, series, sample_of, all_values, num_series)

    def parts(self, size: int | None = None) -> list["Step"]:
        """The step in parts of some series, whose terms add up to its own. A field is a single part.

        Args:
            size: Number of series of a part; if not given, as many as fit into caches.
        """
        if len(self.series) == 1:
            return [self]
        names, size = ("series", "y", "mask", "locations"), size or self.task.chunk_size
        chunks = (getattr(self, name).split(size) for name in names)
        return [self._replace(**dict(zip(names, part, strict=True))) for part in zip(*chunks, strict=True)]

    def noise(self, draws: Draws, left_out: float, replay: Replay | None) -> StepNoise:
        """Draw all random numbers of the step at once.

        Args:
            draws: The random numbers.
            left_out: Share of the times of each series that the encoder does not see.
            replay: The previous decoder, with past latents; None without replay.
        """
        latents = self.task.vae.posterior.latent_dim, self.task.vae.num_draws, len(self.times)
        replayed = () if replay is None else replay.noise_shape()
        sizes = math.prod(latents), len(self.times) if left_out > 0 else 0, math.prod(replayed) if replayed else 0
        drawn = draws.normal(self.series, sum(sizes), dtype=self.task.dtype)
        own, hidden, past = drawn.split(sizes, -1)
        return StepNoise(
            own.unflatten(-1, latents),
            (hidden >= NormalDist().inv_cdf(left_out))[..., None] if left_out > 0 else None,
            past.unflatten(-1, replayed) if replayed else None,
        )

    def terms(
        self, noise: StepNoise, replay: Replay | None = None, number: int = 0, strength: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """The bound per value, and the mean KL between the outputs of the previous decoder and the present one.

        Args:
            noise: The random numbers.
            replay: The previous decoder, with past latents; without it, the KL is 0.
            number: The number of the step.
            strength: What the KL is multiplied by.
        """
        vae, replayed = self.task.vae, None
        if replay is not None:
            assert noise.replay is not None
            replayed = replay(self.series, noise.replay, number, partial(vae.location_inputs, series=self.locations))
        features, past = self.task.features_and_past(self.times, self.series)
        bound, divergence = vae.step(
            features,
            past,
            self.y,
            self.mask,
            noise.latents,
            seen=self.mask if noise.shown is None else self.mask & noise.shown,
            series=self.locations,
            sample_of=self.sample_of,
            replayed=replayed,
        )
        return bound.sum() / self.num_values, divergence.sum() * (strength / self.num_locations)
