"""Streaming posteriors of many series whose precisions depend on the times of observations alone."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gpvae.sites import Site
from gpvae.streaming import Frame
from gpvae.utils.resizable import assign
from gpvae.vae.field import FieldPosterior
from gpvae.vae.observed_times import ObservedTimes
from gpvae.vae.precision_by_time import PosteriorByTime
from gpvae.vae.series_posterior import SiteOf
from gpvae.vae.shared_times import TimeFeatures

#: Number of series to process at a time.
CHUNK_SIZE = 64


class CommonPosterior(PosteriorByTime):
    """A site for each series and latent dimension, with the numbers of observations in intervals as weights.

    If all values are observed, these are the same for all series and latents, exactly, and are kept once. From the
    first task with missing values on, each series and latent has its own.

    Args:
        *args: See `SeriesPosterior`.
        **kwargs: See `SeriesPosterior`.
    """

    common: Tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register_buffer("common", torch.ones((), dtype=torch.bool))

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the parts of the site that have a row for each series of this process."""
        return ("c", "h") if self.common else ("c", "h", "G")

    @property
    def chunk_size(self) -> int:
        """Number of series to process at a time."""
        return CHUNK_SIZE if self.common else super().chunk_size

    def end_task(
        self, frame: Frame, num_series: int, compute: SiteOf, *, observed: ObservedTimes, complete: bool
    ) -> None:
        """Consolidate a task.

        Args:
            frame: The frame of the task.
            num_series: Number of series on all processes.
            compute: Computes the sites of some series, including past and task, with weights instead of G; a single
                row of weights if those of all series are equal.
            observed: The observed times of past and task.
            complete: Whether all values of the task, on all processes, are observed.
        """
        self.common &= complete
        self.end_series(frame, num_series, compute)
        assign(self.moments, observed.moments)

    def select_own_sites(self, state: dict[str, Tensor], prefix: str) -> None:
        """Reduce a state that is to be loaded to the series of this process, see `SeriesPosterior`."""
        self.common.copy_(state[prefix + "common"])
        super().select_own_sites(state, prefix)


class CommonFieldPosterior(FieldPosterior, CommonPosterior):
    """The same for a field."""


class Precisions:
    """G = Σ w a aᵀ / (noise + α residual) over the nodes of observed times, for weights w of their intervals.

    Args:
        features: Features of the nodes.
        observed: The observed times.
        noise: Noise variance of each latent, `[L, 1]`.
        power: α of power expectation propagation.
    """

    def __init__(self, features: TimeFeatures, observed: ObservedTimes, noise: Tensor, power: float) -> None:
        self.features, self.observed = features, observed
        self.precision = 1 / (noise + power * features.residual)
        self._last = noise.new_zeros(0), noise.new_zeros(0)

    def __call__(self, weights: Tensor) -> Tensor:
        """G, `[B or 1, L, M, M]`, for weights `[B or 1, L or 1, K]`; computed once as long as these are the same."""
        if not torch.equal(weights, self._last[0]):
            at_nodes = self.observed.at_nodes(weights) * self.precision
            self._last = weights, self.features.weighted_outer_sum(at_nodes)
        return self._last[1]

    def site(self, kept: Site) -> Site:
        """A site with G, given one with weights."""
        return replace(kept, G=self(kept.G))
