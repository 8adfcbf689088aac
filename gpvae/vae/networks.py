"""The encoder and decoder of GP-VAEs, and the clock that is an optional input of both.

Each is a network of two layers (`mlp`), as in the paper, or a linear map with such a network beside it (`residual`). In
the latter the network starts at zero, so that the linear maps can start at the principal components of the data.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

Networks = Literal["residual", "mlp"]
Noise = Literal["predicted", "variable", "shared"]

#: Minimum variance of a pseudo-observation, relative to a prior variance of one.
MIN_VARIANCE = 1e-4
#: Variance of a pseudo-observation with which residual encoders start.
START_VARIANCE = 0.1
#: Largest absolute logarithm of a predicted scale, relative to the noise of its variable.
MAX_LOG_RATIO = 3.0


def mlp(num_in: int, num_hidden: int, num_out: int) -> nn.Sequential:
    """A network of two layers."""
    return nn.Sequential(nn.Linear(num_in, num_hidden), nn.SiLU(), nn.Linear(num_hidden, num_out))


def silent_mlp(num_in: int, num_hidden: int, num_out: int) -> nn.Sequential:
    """A network of two layers whose output is zero at first."""
    network = mlp(num_in, num_hidden, num_out)
    for parameter in network[-1].parameters():
        nn.init.zeros_(parameter)
    return network


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
        networks: `mlp`, or `residual`, a linear map beside it.
    """

    def __init__(
        self, num_variables: int, latent_dim: int, num_hidden: int, num_phases: int = 0, *, networks: Networks = "mlp"
    ) -> None:
        super().__init__()
        residual = networks == "residual"
        self.network = (silent_mlp if residual else mlp)(2 * (num_variables + num_phases), num_hidden, 2 * latent_dim)
        self.linear = nn.Linear(num_variables, latent_dim) if residual else None
        if residual:
            nn.init.constant_(self.network[2].bias[latent_dim:], math.log(math.expm1(START_VARIANCE)))  # type: ignore[index]

    def forward(self, y: Tensor, mask: Tensor, clock: Tensor) -> tuple[Tensor, Tensor]:
        """Pseudo-observations and their precisions 1/ṽ, `[B, L, T]` in double precision.

        Args:
            y: Observations `[B, T, V]`.
            mask: Which of them are observed, `[B, T, V]`.
            clock: The clock at each time, `[T, 2P]`.
        """
        seen = torch.where(mask, y, 0.0)
        inputs = torch.cat([seen, mask.to(y), clock.to(y).expand(*y.shape[:-1], -1)], -1)
        mean, raw = self.network(inputs).double().mT.chunk(2, dim=-2)
        if self.linear is not None:
            mean = mean + self.linear(seen).double().mT
        return mean, mask.any(-1)[..., None, :] / (softplus(raw) + MIN_VARIANCE)


class Decoder(nn.Module):
    """f_t → the mean of y_t, and its scale: learnt for each variable or for all, or predicted like the mean.

    A predicted scale is trained on the side: it does not train the latents or the mean, which learn with the noise of
    the variables as if there were none. Otherwise hours that are hard to predict would count less in the mean.

    Args:
        latent_dim: Number of latent dimensions L.
        num_variables: Number of observed variables V.
        num_hidden: Width of the hidden layer.
        shared_noise: One σ² for all variables, as in the paper.
        noise: Initial σ.
        num_phases: Number P of periods of the clock.
        networks: `mlp`, or `residual`, a linear map beside it.
        predicted_scale: Predict the scale.
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
        networks: Networks = "mlp",
        predicted_scale: bool = False,
    ) -> None:
        super().__init__()
        sizes = latent_dim + 2 * num_phases, num_hidden, num_variables
        residual = networks == "residual"
        self.network = (silent_mlp if residual else mlp)(*sizes)
        self.log_scale = nn.Parameter(torch.full((1 if shared_noise else num_variables,), noise).log())
        self.linear = nn.Linear(latent_dim, num_variables) if residual else None
        self.scale = silent_mlp(*sizes) if predicted_scale else None

    def forward(self, f: Tensor, clock: Tensor) -> tuple[Tensor, ...]:
        """Mean and standard deviations of y, `[..., T, V]`, from latents `[..., L, T]` and the clock `[T, 2P]`.

        Returns:
            The mean, the noise of the variables, and the predicted scale if there is one.
        """
        inputs = torch.cat([f.mT, clock.to(f).expand(*f.mT.shape[:-1], -1)], -1).to(self.log_scale)
        mean = self.network(inputs)
        if self.linear is not None:
            mean = mean + self.linear(f.mT.to(self.log_scale))
        noise = self.log_scale.exp().expand_as(mean)
        if self.scale is None:
            return mean, noise
        ratio = MAX_LOG_RATIO * torch.tanh(self.scale(inputs.detach()) / MAX_LOG_RATIO)
        return mean, noise, (self.log_scale.detach() + ratio).exp()
