"""Precisions kept as weights along the stream instead of matrices.

Over a planned horizon, the inducing variables stay the same, so the precision of observations with weights w is
G = Σ_t w_t a_t a_tᵀ with features a that can be computed again at any time. Instead of M (M + 1) / 2 numbers, one sum
of weights is kept for each interval of the horizon, and the moments of the times in it once for all series.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gpvae.inducing import ChosenCosines, CosineExpansion
from gpvae.sites import Site
from gpvae.streaming import Frame
from gpvae.utils.linalg import symmetric
from gpvae.utils.resizable import assign
from gpvae.vae.field import FieldPosterior
from gpvae.vae.observed_times import ObservedTimes, stretched
from gpvae.vae.series_posterior import SeriesPosterior, SiteOf


class PosteriorByTime(SeriesPosterior):
    """A site for each series and latent that keeps weights of intervals, `[..., K]`, as its G.

    When a task ends, posterior means stay as they are, and covariances become those of the nodes of the intervals.

    Args:
        inducing: Cosines over a planned horizon, common to all series.
        *args: See `SeriesPosterior`.
        **kwargs: See `SeriesPosterior`.
    """

    inducing: ChosenCosines
    past: ChosenCosines
    moments: Tensor

    def __init__(self, inducing: ChosenCosines, *args: Any, **kwargs: Any) -> None:
        super().__init__(inducing, *args, **kwargs)
        self.register_buffer("moments", torch.zeros(3, num_intervals(inducing), dtype=torch.float64))

    @property
    def configuration(self) -> str:
        """What the sites depend on."""
        return super().configuration + ", precisions by time"

    @property
    def observed(self) -> ObservedTimes:
        """The times learnt so far, in the intervals of the past."""
        return ObservedTimes(self.past.origin, self.past.length, self.moments)

    def observed_with(self, times: Tensor) -> ObservedTimes:
        """The times learnt so far and those of a new task, `[T]`, in the intervals of the task."""
        origin, length = self.inducing.origin, self.inducing.length
        so_far = self.observed.stretched(length) if self.started else ObservedTimes(origin, length, self.moments)
        return so_far.including(times)

    def weights_with(self, series: Tensor, task: Tensor) -> Tensor:
        """The kept weights of some series and those of a task, `[B or 1, L or 1, K]`, in the intervals of the task."""
        if not self.started:
            return task
        return stretched(self.kept_of(series).G, self.past.length, self.inducing.length) + task

    def kept_of(self, series: Tensor | None) -> Site:
        """The past site of some series of this process, with weights instead of G; of all of them if not given."""
        return SeriesPosterior.site_of(self, series)

    def _precision_shape(self, size: int) -> tuple[int, ...]:
        return (self.moments.shape[-1],)


class ExpansionPosterior(PosteriorByTime):
    """A site for each series and latent of an expansion, all of whose latents have the same φ: G = Lᵀ (Σ w φφᵀ) L.

    Series and latents may share weights, as they share G in `SeriesPosterior`.
    """

    inducing: CosineExpansion
    past: CosineExpansion

    def site_of(self, series: Tensor | None = None) -> Site:
        """The past site of some series of this process; of all of them if not given."""
        kept = self.kept_of(series)
        return replace(kept, G=precision_of(self.past, self.L, self.observed, kept.G)) if self.started else kept

    def end_task(
        self,
        frame: Frame,
        num_series: int,
        compute: SiteOf,
        *,
        times: Tensor,
        precision: Callable[[Tensor], Tensor],
        mask: Tensor,
    ) -> None:
        """Consolidate a task.

        Args:
            frame: The frame of the task.
            num_series: Number of series on all processes.
            compute: Computes the sites of some series, including past and task.
            times: The times of the task, `[T]`.
            precision: Computes the precisions of the observations of some series, `[B, L, T]`.
            mask: Which values of all series are observed, `[S, T, V]`.
        """
        observed = self.observed_with(times)

        def keep(series: Tensor) -> Tensor:
            return self.weights_with(series, observed.sums(times, precision(series)))

        def matrix(kept: Tensor) -> Tensor:
            return precision_of(self.inducing, frame.L, observed, kept)

        self.end_series(frame, num_series, compute, mask=mask, keep=keep, matrix=matrix)
        assign(self.moments, observed.moments)

    def _common(self, kept: Tensor, frame: Frame) -> tuple[Tensor, Tensor]:
        return (kept, torch.ones_like(kept[..., :1])) if self.shared_precision else common_weights(kept)


class ExpansionFieldPosterior(FieldPosterior, ExpansionPosterior):
    """An `ExpansionPosterior` for a field."""


def num_intervals(family: ChosenCosines) -> int:
    """The number of intervals K: as many as inducing variables, and even, so that two can become one."""
    return family.num_inducing + family.num_inducing % 2


def precision_of(family: CosineExpansion, L: Tensor, observed: ObservedTimes, weights: Tensor) -> Tensor:
    """G `[B, L, M, M]` of weights of intervals, `[B, L or 1, K]`.

    Args:
        family: The inducing variables.
        L: Factors of kuu, `[L, M, M]`.
        observed: The observed times.
        weights: The weights.
    """
    phi = family.waves(observed.nodes[:, None])
    return symmetric(L.mT @ ((phi.mT * observed.at_nodes(weights)[..., None, :]) @ phi) @ L)


def common_weights(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weights of latents `[1, L, K]` as common weights `[1, 1, K]` and a factor for each latent `[1, L, 1]`."""
    scale = weights.mean(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
    return (weights / scale).mean(1, keepdim=True), scale
