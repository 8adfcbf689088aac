"""A kernel over time with waves of known periods."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from gpytorch.constraints import GreaterThan, Positive
from gpytorch.kernels import Kernel
from torch import Tensor, nn

from gpvae.methods import KernelName
from gpvae.utils import checks

#: Shortest lengthscale of the amplitude of a wave, in units of the longest period.
SLOW = 14.0
#: Correlation functions of the distance in lengthscales.
CORRELATIONS: dict[KernelName, Callable[[Tensor], Tensor]] = {
    "rbf": lambda r: (-0.5 * r**2).exp(),
    "matern12": lambda r: (-r).exp(),
    "matern32": lambda r: (1 + math.sqrt(3) * r) * (-math.sqrt(3) * r).exp(),
    "matern52": lambda r: (1 + math.sqrt(5) * r + 5 / 3 * r**2) * (-math.sqrt(5) * r).exp(),
}


class WaveKernel(Kernel):
    """v k(d / ℓ) + Σ_p v_p cos(2π d / p) exp(-½ (d / ℓ_p)²), d = |t - t'|: waves whose amplitudes change slowly.

    No ℓ_p is shorter than `SLOW` times the longest period: a first task of some days would mistake weather for a wave.
    All terms share distances and cosines, which the same sum of gpytorch's kernels would compute for each latent.

    Args:
        name: The correlation function k.
        latent_dim: Number of latents L, the batch shape.
        periods: The periods p.
    """

    has_lengthscale = True
    periods: Tensor

    def __init__(self, name: KernelName, latent_dim: int, periods: Sequence[float] = ()) -> None:
        super().__init__(batch_shape=torch.Size([latent_dim]))
        checks.choice("kernel", name, CORRELATIONS)
        checks.positive(**{f"periods[{i}]": period for i, period in enumerate(periods)})
        self.name = name
        self.register_buffer("periods", torch.tensor(list(periods), dtype=torch.float64))
        count = len(periods)
        self.register_parameter("raw_outputscale", nn.Parameter(torch.zeros(latent_dim, 1 + count)))
        self.register_constraint("raw_outputscale", Positive())
        if count:
            slowest = SLOW * max(periods)
            self.register_parameter("raw_persistence", nn.Parameter(torch.zeros(latent_dim, count)))
            self.register_constraint("raw_persistence", GreaterThan(slowest))
            start = self.raw_persistence_constraint.inverse_transform(torch.tensor(2 * slowest))
            self.initialize(raw_persistence=start)
        self.double()

    @property
    def outputscale(self) -> Tensor:
        """Variances of k and of each wave, `[L, 1 + P]`."""
        return self.raw_outputscale_constraint.transform(self.raw_outputscale)

    @property
    def persistence(self) -> Tensor:
        """Lengthscales ℓ_p of the amplitudes of the waves, `[L, P]`."""
        return self.raw_persistence_constraint.transform(self.raw_persistence)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Covariances, `[L, N1, N2]`, or variances, `[L, N]`."""
        scales = self.outputscale
        if diag:
            return scales.sum(-1, keepdim=True).expand(*scales.shape[:-1], x1.shape[-2])
        distance = (x1 - x2.mT).abs()
        K = scales[..., 0, None, None] * CORRELATIONS[self.name](distance / self.lengthscale)
        for number, period in enumerate(self.periods):
            wave = (2 * math.pi / period * distance).cos()
            amplitude = (-0.5 * (distance / self.persistence[..., number, None, None]) ** 2).exp()
            K = K + scales[..., 1 + number, None, None] * wave * amplitude
        return K
