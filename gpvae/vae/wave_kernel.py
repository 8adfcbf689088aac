"""A kernel over time with waves of known periods."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from gpytorch.constraints import Positive
from gpytorch.kernels import Kernel
from torch import Tensor, nn

from gpvae.methods import KernelName
from gpvae.utils import checks

#: Lengthscale of the amplitudes of waves, in units of the longest period: four weeks for the waves of a day.
SLOW = 28.0
#: Number of covariances from which the latents are computed one after the other on CPUs, in their caches.
MANY = 2**17
#: Correlation functions of the distance in lengthscales.
CORRELATIONS: dict[KernelName, Callable[[Tensor], Tensor]] = {
    "rbf": lambda r: (-0.5 * r**2).exp(),
    "matern12": lambda r: (-r).exp(),
    "matern32": lambda r: (1 + math.sqrt(3) * r) * (-math.sqrt(3) * r).exp(),
    "matern52": lambda r: (1 + math.sqrt(5) * r + 5 / 3 * r**2) * (-math.sqrt(5) * r).exp(),
}


class WaveKernel(Kernel):
    """v k(d / ℓ) + Σ_p v_p cos(2π d / p) exp(-½ (d / λ)²), d = |t - t'|: waves whose amplitudes change slowly.

    λ is `SLOW` times the longest period, and is not fitted: a first task of some days would mistake weather for a wave.
    The waves are the same for all latents but for their variances v_p; the same sum of gpytorch's kernels would compute
    them for each.

    Args:
        name: The correlation function k.
        latent_dim: Number of latents L, the batch shape.
        periods: The periods p.
    """

    has_lengthscale = True

    def __init__(self, name: KernelName, latent_dim: int, periods: Sequence[float] = ()) -> None:
        super().__init__(batch_shape=torch.Size([latent_dim]))
        checks.choice("kernel", name, CORRELATIONS)
        checks.positive(**{f"periods[{i}]": period for i, period in enumerate(periods)})
        self.name, self.periods = name, tuple(float(period) for period in periods)
        self.register_parameter("raw_outputscale", nn.Parameter(torch.zeros(latent_dim, 1 + len(periods))))
        self.register_constraint("raw_outputscale", Positive())
        self.double()

    @property
    def outputscale(self) -> Tensor:
        """Variances of k and of each wave, `[L, 1 + P]`."""
        return self.raw_outputscale_constraint.transform(self.raw_outputscale)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Covariances, `[L, N1, N2]`, or variances, `[L, N]`."""
        scales = self.outputscale
        if diag:
            return scales.sum(-1, keepdim=True).expand(*scales.shape[:-1], x1.shape[-2])
        distance = (x1 - x2.mT).abs()
        amplitude = (-0.5 * (distance / (SLOW * max(self.periods, default=1.0))) ** 2).exp()
        waves = [(2 * math.pi / period * distance).cos() * amplitude for period in self.periods]

        def covariances(scales: Tensor, lengthscale: Tensor) -> Tensor:
            K = scales[..., 0, None, None] * CORRELATIONS[self.name](distance / lengthscale)
            for number, wave in enumerate(waves, start=1):
                K = torch.addcmul(K, scales[..., number, None, None], wave)
            return K

        if distance.device.type == "cpu" and distance.ndim == 2 and distance.numel() > MANY:
            return torch.stack([covariances(*latent) for latent in zip(scales, self.lengthscale, strict=True)])
        return covariances(scales, self.lengthscale)
