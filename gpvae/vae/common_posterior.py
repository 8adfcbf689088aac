"""Streaming posteriors of many series that share one precision as long as all of them are completely observed."""

from collections.abc import Callable

import torch
from torch import Tensor

from gpvae.inducing import InducingVariables
from gpvae.sites import Site
from gpvae.streaming import Frame
from gpvae.vae.field import FieldPosterior
from gpvae.vae.series_posterior import MAX_ELEMENTS, SeriesPosterior


class CommonPosterior(SeriesPosterior):
    """A site for each series and latent dimension whose precision G depends on times and noise, not on values.

    If all values are observed, G is the same for all series, exactly, and is kept once. From the first task with
    missing values on, each series has its own.

    Args:
        inducing: A family of inducing variables, common to all series.
        latent_dim: Number of latent dimensions L.
        power: α of power expectation propagation; 0 is the variational bound.
    """

    common: Tensor

    def __init__(self, inducing: InducingVariables, latent_dim: int, *, power: float = 0.0) -> None:
        super().__init__(inducing, latent_dim, power=power)
        self.register_buffer("common", torch.ones((), dtype=torch.bool))

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the parts of the site that have a row for each series of this process."""
        return ("c", "h") if self.common else ("c", "h", "G")

    def end_task(self, frame: Frame, num_series: int, compute: Callable[[Tensor], Site], *, complete: bool) -> None:
        """Consolidate a task.

        Args:
            frame: The frame of the task.
            num_series: Number of series on all processes.
            compute: Computes the sites of some series, including past and task; G has a single row if all are equal.
            complete: Whether all values of the task, on all processes, are observed.
        """
        self.common &= complete
        size = self.latent_dim * self.inducing.num_inducing * (1 if self.common else self.inducing.num_inducing)
        self.end_series(frame, num_series, compute, chunk_size=max(2, MAX_ELEMENTS // size))

    def select_own_sites(self, state: dict[str, Tensor], prefix: str) -> None:
        """Reduce a state that is to be loaded to the series of this process, see `SeriesPosterior`."""
        self.common.copy_(state[prefix + "common"])
        super().select_own_sites(state, prefix)


class CommonFieldPosterior(FieldPosterior, CommonPosterior):
    """The same for a field."""
