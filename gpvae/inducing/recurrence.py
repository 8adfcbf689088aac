"""LegS over time by random features and a stepped ODE, as in the paper (sections 3.2 and 3.3), for comparison.

`gpvae.inducing.LegS` gives the same variables in closed form.
"""

import math

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.inducing.base import check_dim
from gpvae.inducing.path import Evolution, LegSPath, Pairing
from gpvae.inducing.spectral import Sampling
from gpvae.utils.resizable import assign

#: Maximum number of steps of a task; their features are in memory during the update.
MAX_STEPS = 1_000_000


class LegSRecurrence(LegSPath):
    """A path memory whose path is time itself, on a grid of step Δt.

    Args:
        num_inducing: Number of polynomials M.
        dt: Step Δt of the recurrence, in units of the input.
        num_frequencies: Number of random frequencies R.
        sampling: How the frequencies are drawn.
        evolution: `bilinear` or `euler` steps as in the paper, or `closed_form` on the same grid.
        pairing: `paper` takes kuf from the exact kernel, stepped from the origin for every batch of inputs;
            `features` from the random features.
        seed: Seed of the frequencies.
    """

    origin: Tensor

    def __init__(
        self,
        num_inducing: int,
        dt: float = 0.01,
        *,
        num_frequencies: int = 1000,
        sampling: Sampling = "plain",
        evolution: Evolution = "bilinear",
        pairing: Pairing = "paper",
        seed: int = 0,
    ) -> None:
        super().__init__(
            num_inducing,
            num_frequencies,
            sampling=sampling,
            dt=dt,
            evolution=evolution,
            pairing=pairing,
            seed=seed,
        )
        self.register_buffer("origin", torch.tensor(math.nan, dtype=torch.float64))

    def _block(self, kernel: Kernel, x: Tensor) -> Tensor:
        """Grid times after those already seen, up to the last input."""
        check_dim(self, x, 1)
        if not self.started:
            assign(self.origin, x.min())
        done = round(float(self.elapsed) / self.dt) + len(self.path)
        until = max(math.ceil(float(x.max() - self.origin) / self.dt - 1e-9), 1)
        if until - done > MAX_STEPS:
            raise ValueError(
                f"the last input, {float(x.max()):g}, is {until - done:,} steps of dt={self.dt:g} away, but at most "
                f"{MAX_STEPS:,} are supported; increase dt, or use LegS, which takes no steps"
            )
        steps = torch.arange(done + 1, until + 1, dtype=self.origin.dtype, device=self.origin.device)
        return (self.origin + self.dt * steps)[:, None]
