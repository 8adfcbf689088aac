"""A field: all locations of a stream as one series, whose latents they share."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gpvae.vae.series_posterior import SeriesPosterior


@dataclass(frozen=True)
class Field:
    """The variables of all locations side by side, as S·V variables of one series.

    Attributes:
        num_series: Number of locations S.
        num_variables: Number of variables V of each.
    """

    num_series: int
    num_variables: int

    @property
    def size(self) -> int:
        """S·V."""
        return self.num_series * self.num_variables

    def join(self, values: Tensor) -> Tensor:
        """Values of all locations, `[S, T, V]`, as those of one series, `[1, T, S·V]`.

        Raises:
            ValueError: There are more or fewer locations than at the start.
        """
        if len(values) != self.num_series:
            raise ValueError(
                f"the data have {len(values)} locations, but the field has {self.num_series}: its networks read and "
                "write all of them at once. Use the same locations, with missing ones masked, or latents: series"
            )
        return join_locations(values)

    def split(self, values: Tensor, series: Tensor) -> Tensor:
        """Values of some locations, `[..., B, T, V]`, of those of the field, `[..., 1, T, S·V]`."""
        values = values.unflatten(-1, (self.num_series, self.num_variables)).squeeze(-4)
        return values.index_select(-2, series.to(values.device)).movedim(-2, -3)


def join_locations(values: Tensor) -> Tensor:
    """Values of all locations, `[S, T, V]`, as those of one series, `[1, T, S·V]`."""
    return values.transpose(0, 1).flatten(1)[None]


class FieldPosterior(SeriesPosterior):
    """The posterior of a field: one series, of which every process keeps the same copy."""

    def own_series(self, num_series: int) -> Tensor:
        """The one series, on every process."""
        return torch.arange(num_series, device=self.L.device)

    def total(self, value: Tensor) -> Tensor:
        """The value itself, which is the same on all processes."""
        return value

    def gather_sites(self, state: dict[str, Tensor], prefix: str) -> None:
        """Do nothing: the state of each process is complete."""

    def select_own_sites(self, state: dict[str, Tensor], prefix: str) -> None:
        """Do nothing: each process needs the whole state."""
