"""The encoder and decoder of GP-VAEs, and the clock that is an optional input of both."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

#: Minimum variance of a pseudo-observation, relative to a prior variance of one.
MIN_VARIANCE = 1e-4


def mlp(num_in: int, num_hidden: int, num_out: int) -> nn.Sequential:
    """A network of two layers."""
    return nn.Sequential(nn.Linear(num_in, num_hidden), nn.SiLU(), nn.Linear(num_hidden, num_out))


class Clock(nn.Module):
    """The phases of known periods, such as the hour of the day.

    Args:
        periods: The periods, in units of time; none for no clock.
    """

    periods: Tensor

    def __init__(self, periods: Sequence[float] = ()) -> None:
        super().__init__()
        if any(not period > 0 for period in periods):
            raise ValueError(f"periods must be positive, got {list(periods)}")
        self.register_buffer("periods", torch.tensor(list(periods), dtype=torch.float64))

    def forward(self, times: Tensor) -> Tensor:
        """Cosine and sine of each phase, `[T, 2P]`, at times `[T]`."""
        phases = 2 * math.pi * times[:, None] / self.periods
        return torch.cat([phases.cos(), phases.sin()], -1)


class Encoder(nn.Module):
    """y_t → pseudo-observations ỹ_t of the latents, and their variances ṽ_t.

    Masked values are ignored; a time without observations has precision zero.

    Args:
        num_variables: Number of observed variables V.
        latent_dim: Number of latent dimensions L.
        num_hidden: Width of the hidden layer.
        num_phases: Number P of periods of the clock.
    """

    def __init__(self, num_variables: int, latent_dim: int, num_hidden: int, num_phases: int = 0) -> None:
        super().__init__()
        self.network = mlp(2 * (num_variables + num_phases), num_hidden, 2 * latent_dim)

    def forward(self, y: Tensor, mask: Tensor, clock: Tensor) -> tuple[Tensor, Tensor]:
        """Pseudo-observations and their precisions 1/ṽ, `[B, L, T]` in double precision.

        Args:
            y: Observations `[B, T, V]`.
            mask: Which of them are observed, `[B, T, V]`.
            clock: The clock at each time, `[T, 2P]`.
        """
        inputs = torch.cat([torch.where(mask, y, 0.0), mask.to(y), clock.to(y).expand(*y.shape[:-1], -1)], -1)
        mean, raw = self.network(inputs).double().mT.chunk(2, dim=-2)
        return mean, mask.any(-1)[..., None, :] / (softplus(raw) + MIN_VARIANCE)


class Decoder(nn.Module):
    """f_t → the mean of y_t, with learnt noise for each variable or for all.

    Args:
        latent_dim: Number of latent dimensions L.
        num_variables: Number of observed variables V.
        num_hidden: Width of the hidden layer.
        shared_noise: One σ² for all variables, as in the paper.
        noise: Initial σ.
        num_phases: Number P of periods of the clock.
    """

    def __init__(
        self,
        latent_dim: int,
        num_variables: int,
        num_hidden: int,
        *,
        shared_noise: bool = False,
        noise: float = 0.5,
        num_phases: int = 0,
    ) -> None:
        super().__init__()
        self.network = mlp(latent_dim + 2 * num_phases, num_hidden, num_variables)
        self.log_scale = nn.Parameter(torch.full((1 if shared_noise else num_variables,), noise).log())

    def forward(self, f: Tensor, clock: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of y, `[..., T, V]`, from latents `[..., L, T]` and the clock `[T, 2P]`."""
        inputs = torch.cat([f.mT, clock.to(f).expand(*f.mT.shape[:-1], -1)], -1)
        mean = self.network(inputs.to(self.log_scale))
        return mean, self.log_scale.exp().expand_as(mean)
