"""Precisions of expansions, kept as weights along the stream instead of matrices.

In an expansion f = φᵀu, all latents have the same φ, so the precision of observations with weights w is
G = Lᵀ (Σ_t w_t φ_t φ_tᵀ) L. The sum follows from the weights. Instead of M (M + 1) / 2 numbers, one number is kept for
each interval of the horizon, and the weights are assumed to be even within an interval.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from gpvae.inducing import CosineExpansion
from gpvae.sites import Site
from gpvae.streaming import Frame
from gpvae.utils.linalg import symmetric
from gpvae.vae.field import FieldPosterior
from gpvae.vae.series_posterior import SeriesPosterior, SiteOf

#: Number of intervals for each cosine: the product of two cosines has twice the frequency of each.
INTERVALS_PER_COSINE = 2
#: Number of nodes in each interval.
NODES_PER_INTERVAL = 4


class ExpansionPosterior(SeriesPosterior):
    """A site for each series and latent of an expansion, with weights of intervals instead of G.

    Series and latents may share these weights, as they share G in `SeriesPosterior`. When a task ends, posterior means
    stay as they are, and covariances become those of even weights.
    """

    inducing: CosineExpansion
    past: CosineExpansion

    @property
    def configuration(self) -> str:
        """What the sites depend on."""
        return super().configuration + ", precisions by time"

    @property
    def site(self) -> Site:
        """The past site of all series of this process."""
        return self.site_of()

    def site_of(self, series: Tensor | None = None) -> Site:
        """The past site of some series of this process; of all of them if not given."""
        kept = self._kept_of(series)
        return replace(kept, G=precision_of(self.past, self.L, kept.G)) if self.started else kept

    def _kept_of(self, series: Tensor | None) -> Site:
        """The past site with weights instead of G."""
        site = super().site
        return site if series is None else self.select_series(site, series)

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

        def keep(series: Tensor) -> Tensor:
            task = by_interval(self.inducing, times, precision(series))
            if not self.started:
                return task
            return stretched(self._kept_of(series).G, self.past.horizon, self.inducing.horizon) + task

        self.end_series(frame, num_series, compute, mask=mask, keep=keep)

    def _precision(self, frame: Frame, kept: Tensor) -> Tensor:
        return precision_of(self.inducing, frame.L, kept)

    def _common(self, kept: Tensor, frame: Frame) -> tuple[Tensor, Tensor]:
        return (kept, torch.ones_like(kept[..., :1])) if self.shared_precision else common_weights(kept)

    def _own(self, frame: Frame, compute: SiteOf, keep: Callable[[Tensor], Tensor]) -> SiteOf:
        def site(series: Tensor) -> Site:
            kept = keep(series)
            return replace(compute(series).with_precision(self._precision(frame, kept)), G=kept)

        return site

    def _precision_shape(self, size: int) -> tuple[int, ...]:
        return (num_intervals(self.inducing),)


class ExpansionFieldPosterior(FieldPosterior, ExpansionPosterior):
    """An `ExpansionPosterior` for a field."""


def num_intervals(family: CosineExpansion) -> int:
    """The number of intervals K."""
    return INTERVALS_PER_COSINE * family.num_inducing


def by_interval(family: CosineExpansion, times: Tensor, weights: Tensor) -> Tensor:
    """Sums of weights `[..., T]` at times `[T]` over the intervals, `[..., K]`."""
    number = num_intervals(family)
    share = (times.to(family.end) - family.origin) / family.length
    sums = weights.new_zeros(*weights.shape[:-1], number)
    return sums.index_add_(-1, (share * number).long().clamp(0, number - 1), weights)


def precision_of(family: CosineExpansion, L: Tensor, weights: Tensor) -> Tensor:
    """G `[B, L, M, M]` of weights of intervals, `[B, L or 1, K]`.

    Args:
        family: The inducing variables.
        L: Factors of kuu, `[L, M, M]`.
        weights: The weights.
    """
    num_nodes = NODES_PER_INTERVAL * weights.shape[-1]
    positions = (torch.arange(num_nodes).to(weights) + 0.5) / num_nodes
    phi = family.waves((family.origin + family.length * positions)[:, None])
    even = weights.repeat_interleave(NODES_PER_INTERVAL, -1) / NODES_PER_INTERVAL
    return symmetric(L.mT @ ((phi.mT * even[..., None, :]) @ phi) @ L)


def stretched(sums: Tensor, former: Tensor, present: Tensor) -> Tensor:
    """Sums over intervals of a horizon that has doubled, once or several times: sums of pairs, followed by zeros.

    Args:
        sums: The sums, `[..., K]`, K even.
        former: The former horizon.
        present: The present one.
    """
    while present > 1.5 * former:
        pairs = sums.unflatten(-1, (-1, 2)).sum(-1)
        sums, former = torch.cat([pairs, torch.zeros_like(pairs)], -1), 2 * former
    return sums


def common_weights(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weights of latents `[1, L, K]` as common weights `[1, 1, K]` and a factor for each latent `[1, L, 1]`."""
    scale = weights.mean(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
    return (weights / scale).mean(1, keepdim=True), scale
