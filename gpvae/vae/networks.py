"""The encoder and decoder of GP-VAEs, and the clock that is an optional input of both.

Each is a network of two layers (`mlp`), as in the paper, or a linear map with such a network beside it (`residual`). In
the latter the network starts at zero, so that the linear maps can start at the principal components of the data.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from gpvae.utils.devices import moved

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
        self._last: tuple[Tensor, Tensor] | None = None

    def forward(self, times: Tensor, device: torch.device | None = None) -> Tensor:
        """Cosine and sine of each phase, `[T, 2P]`, at times `[T]`; computed once for all steps with the same times.

        Args:
            times: The times.
            device: The device of the networks; that of the times if not given.
        """
        device = times.device if device is None else device
        if self._last is None or self._last[0] is not times or self._last[1].device != device:
            phases = 2 * math.pi * times[:, None] / self.periods
            phases = torch.cat([phases.cos(), phases.sin()], -1)
            self._last = times, moved(phases, device, torch.get_default_dtype())
        return self._last[1]

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._last = None
        super()._load_from_state_dict(*args, **kwargs)


class Encoder(nn.Module):
    """y_t → pseudo-observations ỹ_t of the latents, and their variances ṽ_t.

    Masked values are ignored; a time without observations has precision zero.

    Args:
        num_variables: Number of observed variables V.
        latent_dim: Number of latent dimensions L.
        num_hidden: Width of the hidden layer.
        num_phases: Number P of periods of the clock.
        networks: `mlp`, or `residual`, a linear map beside it.
        num_inputs: Number K of inputs that depend on the location.
    """

    def __init__(
        self,
        num_variables: int,
        latent_dim: int,
        num_hidden: int,
        num_phases: int = 0,
        *,
        networks: Networks = "mlp",
        num_inputs: int = 0,
    ) -> None:
        super().__init__()
        residual, num_in = networks == "residual", 2 * (num_variables + num_phases) + num_inputs
        self.network = (silent_mlp if residual else mlp)(num_in, num_hidden, 2 * latent_dim)
        self.linear = nn.Linear(num_variables, latent_dim) if residual else None
        if residual:
            nn.init.constant_(self.network[2].bias[latent_dim:], math.log(math.expm1(START_VARIANCE)))  # type: ignore[index]

    def forward(self, y: Tensor, mask: Tensor, clock: Tensor, inputs: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Pseudo-observations and their precisions 1/ṽ, `[B, L, T]`.

        Args:
            y: Observations `[B, T, V]`.
            mask: Which of them are observed, `[B, T, V]`.
            clock: The clock at each time, `[T, 2P]`.
            inputs: Inputs that depend on the location, `[B, T, K]`.
        """
        seen = torch.where(mask, y, 0.0)
        known = joined(seen, mask, clock, inputs)
        mean, raw = self.network(known).mT.chunk(2, dim=-2)
        if self.linear is not None:
            mean = mean + self.linear(seen).mT
        return mean, mask.any(-1)[..., None, :] / (softplus(raw) + MIN_VARIANCE)


class Decoded(NamedTuple):
    """Outputs of a decoder.

    Attributes:
        mean: The mean of y, `[..., T, V]`.
        log_noise: The logarithm of the noise of the variables, of a shape that can be expanded to that.
        log_scale: The logarithm of the predicted scale, `[..., T, V]`, if there is one.
    """

    mean: Tensor
    log_noise: Tensor
    log_scale: Tensor | None


class Replayed(NamedTuple):
    """Latents of the past that a step replays.

    Attributes:
        f: The latents, `[B, L, R]`.
        given: Further inputs of the decoder: the clock, and those that depend on the location.
        target: Outputs of the previous decoder.
    """

    f: Tensor
    given: tuple[Tensor, ...]
    target: Decoded


class Decoder(nn.Module):
    """f_t → the mean of y_t, and its scale: learnt for each variable or for all, or predicted like the mean.

    The loss of a predicted scale has no derivatives by the latents or the mean, which are trained with the noise of the
    variables alone. Otherwise hours that are hard to predict would count less in the mean.

    Args:
        latent_dim: Number of latent dimensions L.
        num_variables: Number of observed variables V.
        num_hidden: Width of the hidden layer.
        shared_noise: One σ² for all variables, as in the paper.
        noise: Initial σ.
        num_phases: Number P of periods of the clock.
        networks: `mlp`, or `residual`, a linear map beside it.
        predicted_scale: Predict the scale.
        num_inputs: Number K of inputs that depend on the location.
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
        num_inputs: int = 0,
    ) -> None:
        super().__init__()
        sizes = latent_dim + 2 * num_phases + num_inputs, num_hidden, num_variables
        residual = networks == "residual"
        self.num_hidden = num_hidden
        self.network = (silent_mlp if residual else mlp)(*sizes)
        self.log_scale = nn.Parameter(torch.full((1 if shared_noise else num_variables,), noise).log())
        self.linear = nn.Linear(latent_dim, num_variables) if residual else None
        self.scale = silent_mlp(*sizes) if predicted_scale else None

    def forward(self, f: Tensor, clock: Tensor, *location_inputs: Tensor) -> tuple[Tensor, ...]:
        """Mean and standard deviations of y, `[..., T, V]`, from latents `[..., L, T]` and the clock `[T, 2P]`.

        Args:
            f: The latents.
            clock: The clock.
            location_inputs: Inputs that depend on the location, `[B, T, K]`, if there are any.

        Returns:
            The mean, the noise of the variables, and the predicted scale if there is one.
        """
        mean, *logs = self.outputs(f, clock, *location_inputs)
        return mean, *(log.exp().expand_as(mean) for log in logs if log is not None)

    def outputs(self, f: Tensor, clock: Tensor, *location_inputs: Tensor) -> "Decoded":
        """The mean, and logarithms of the standard deviations, for the arguments of `forward`."""
        linear, known = self._given(f, clock, *location_inputs)
        mean = self.network(known)
        if linear is not None:
            mean = mean + linear
        return Decoded(mean, *self._log_scales(known, *location_inputs))

    def _given(self, f: Tensor, clock: Tensor, inputs: Tensor | None = None) -> tuple[Tensor | None, Tensor]:
        """The linear part of the mean, and all that the networks are given."""
        f = f.mT.to(self.log_scale)
        return None if self.linear is None else self.linear(f), joined(f, clock, inputs)

    def _log_scales(self, known: Tensor, *location_inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logarithms of the noise of the variables, and of the predicted scale if there is one."""
        if self.scale is None:
            return self.log_scale, None
        ratio = torch.tanh(self.scale(known.detach()) / MAX_LOG_RATIO)
        return self.log_scale, torch.add(self.log_scale.detach(), ratio, alpha=MAX_LOG_RATIO)


class LocationDecoder(Decoder):
    """f_t and a location → the mean of y_t there, and its scale.

    A linear map makes coefficients of functions of location from the latents, and so a first mean at each location. The
    networks, which all locations share, are given this mean, the clock and the inputs of the location. Where functions
    represent a location less well than those that were seen, the last scale grows accordingly.

    Outputs are `[..., B, T, V]`, from latents `[..., 1, L, T]` of a field. What it is given about B locations are their
    inputs `[B, T, K]`, the functions there `[B, D]`, and the variance beyond that at locations seen, `[B, V]`.

    Args:
        latent_dim: Number of latent dimensions L.
        num_variables: Number of observed variables V.
        num_hidden: Width of the hidden layer.
        num_features: Number D of functions of location.
        options: See `Decoder`.
    """

    def __init__(
        self,
        latent_dim: int,
        num_variables: int,
        num_hidden: int,
        *,
        num_features: int,
        **options: Any,
    ) -> None:
        super().__init__(num_variables, num_variables, num_hidden, networks="residual", **options)
        self.linear = nn.Linear(latent_dim, num_features * num_variables)
        self.num_features = num_features

    def _given(  # type: ignore[override]
        self, f: Tensor, clock: Tensor, inputs: Tensor, features: Tensor, excess: Tensor
    ) -> tuple[Tensor, Tensor]:
        assert self.linear is not None
        coefficients = self.linear(f.mT.to(self.log_scale)).unflatten(-1, (self.num_features, -1))  # [..., 1, T, D, V]
        local = torch.einsum("bd,...tdv->...btv", features.to(coefficients), coefficients.squeeze(-4))
        return local, joined(local, clock, inputs).to(self.log_scale)

    def _log_scales(self, known: Tensor, *location_inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        log_noise, log_scale = super()._log_scales(known)
        *_, excess = location_inputs
        wider = 0.5 * torch.log1p(excess.to(log_noise)[:, None] / log_noise.detach().exp().square())
        return (log_noise + wider, None) if log_scale is None else (log_noise, log_scale + wider)


def joined(*parts: Tensor | None) -> Tensor:
    """Parts side by side, those after the first in its precision and of its size but for the last dimension."""
    first, *others = (part for part in parts if part is not None)
    expanded = (part.to(first).expand(*first.shape[:-1], -1) for part in others)
    return torch.cat([first, *expanded], -1)
