"""Variational Fourier features of Matérn kernels on an interval: OVFF (Hensman et al. 2018).

u_m = <f, φ_m> in the kernel's RKHS on [a, b], φ = cos ω_m(x - a), sin ω_m(x - a), so that cov(u_m, f(x)) = φ_m(x)
inside the interval. For Matérn-ν, ν = p - 1/2, λ = sqrt(2ν)/lengthscale and s(x) = (f, f', .., f^(p-1))(x),
<g, h> = ∫ (λ + d/dx)^p g · (λ + d/dx)^p h dx / q + s_g(a)ᵀ P⁻¹ s_h(a), P = cov(s, s).
Each φ_m is scaled so that its integral is one; otherwise the diagonal of kuu would grow like ω^2p, beyond any jitter.
"""

import math
from typing import Self

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.inducing.base import InducingVariables, check_dim
from gpvae.inducing.spectral import bandwidth
from gpvae.kernels import UnsupportedKernelError, components
from gpvae.utils.linalg import identity_like
from gpvae.utils.resizable import assign, same


class FourierFeatures(InducingVariables):
    """Projections of f on sines and cosines over an interval that is known in advance.

    Args:
        num_inducing: Number of waves M, preferably odd: a constant, and pairs of cosines and sines.
        start: a, a few lengthscales before the first input of the whole stream: the waves have the period b - a, so
            near its ends no number of them is exact.
        end: b, a few lengthscales after the last input.
    """

    follows_kernel = False
    start: Tensor
    end: Tensor
    settled: Tensor

    def __init__(self, num_inducing: int, start: float, end: float) -> None:
        super().__init__(num_inducing)
        if not end > start:
            raise ValueError(f"the interval must satisfy end > start, got start={start}, end={end}")
        self.register_buffer("start", torch.tensor(start, dtype=torch.float64))
        self.register_buffer("end", torch.tensor(end, dtype=torch.float64))
        self.register_buffer("settled", torch.zeros(0, dtype=torch.float64))

    def kuu(self, kernel: Kernel) -> Tensor:
        """<φ_m, φ_n> in the RKHS: the identity from the integral, and a term of rank p from the left end."""
        p, lam, v = _matern(kernel)
        omega, cosine = self._waves()
        S = self._state(omega, cosine, torch.zeros_like(omega), p) * self._scale(kernel)[..., None, :]  # [*L, p, M]
        return identity_like(S) + S.mT @ torch.linalg.solve(_state_covariance(p, lam, v), S)

    def kuf(self, kernel: Kernel, x: Tensor) -> Tensor:
        """φ_m(x) inside [a, b]; outside, what the Markov state at the nearer end predicts."""
        p, lam, _ = _matern(kernel)
        omega, cosine = self._waves()
        check_dim(self, x, 1)
        inside = torch.minimum(torch.maximum(x[..., 0], self.start), self.end)  # [*L, N]
        distance = (x[..., 0] - inside).abs()
        side = torch.sign(x[..., 0] - inside)
        S = self._state(omega[:, None], cosine[:, None], omega[:, None] * (inside - self.start)[..., None, :], p)
        lag = lam[..., None] * distance  # [*L, N]
        kuf = torch.zeros(())
        for j in range(p):  # E f(b + d) = e^{-λd} Σ_j d^j/j! Σ_{i <= p-1-j} (λd)^i/i! f^(j)(b)
            series = sum(lag**i / math.factorial(i) for i in range(p - j))
            weight = torch.exp(-lag) * series * (side * distance) ** j / math.factorial(j)
            kuf = kuf + weight[..., None, :] * S[j]
        return kuf * self._scale(kernel)[..., None]

    def kuv(self, kernel: Kernel, old: InducingVariables) -> Tensor:
        """kuu: the variables are the same as long as neither interval nor hyperparameters change."""
        if not isinstance(old, FourierFeatures):
            return super().kuv(kernel, old)
        same_interval = bool(self.start == old.start) and bool(self.end == old.end)
        if not same_interval or self.num_inducing != old.num_inducing:
            raise ValueError("the covariance of Fourier features with different intervals or numbers is not known")
        if old.settled.numel() and not same(old.settled, _hyperparameters(kernel)):
            raise ValueError(
                "the variables of Fourier features depend on the kernel's hyperparameters, so these cannot change "
                "after the first task; freeze the kernel (or use points or LegS, which allow it)"
            )
        return self.kuu(kernel)

    def num_needed(self, kernel: Kernel, share: float = 0.99) -> int | None:
        """Number of waves up to the angular frequency below which a share of the kernel's variance lies."""
        return math.ceil(bandwidth(kernel, tail=1 - share) * float(self.end - self.start) / math.pi) + 1

    def resized(self, num_inducing: int, kernel: Kernel) -> Self:
        """Another number of waves on the same interval."""
        return type(self)(num_inducing, float(self.start), float(self.end)).to(self.start.device)

    def _advance(self, kernel: Kernel, x: Tensor) -> None:
        """Check the kernel, and that the inputs lie in the interval."""
        _matern(kernel)
        self.check_inputs(x)

    def check_inputs(self, x: Tensor) -> None:
        """Raise unless the inputs lie in the interval."""
        check_dim(self, x, 1)
        low, high = float(x.min()), float(x.max())
        if low < self.start or high > self.end:
            raise ValueError(
                f"inputs from {low:g} to {high:g} lie outside the interval [{float(self.start):g}, "
                f"{float(self.end):g}]; Fourier features need an interval that covers the whole stream, past and future"
            )

    @torch.no_grad()
    def adapt_to_kernel(self, kernel: Kernel) -> None:
        """Record the hyperparameters that the variables of a finished task depend on."""
        assign(self.settled, _hyperparameters(kernel))

    def _scale(self, kernel: Kernel) -> Tensor:
        """The factors of φ_m that make ∫ ((λ + d/dx)^p φ_m)² dx / q equal one, `[*L, M]`."""
        p, lam, v = _matern(kernel)
        omega, _ = self._waves()
        length = self.end - self.start
        q = v * math.factorial(p - 1) ** 2 / math.factorial(2 * p - 2) * (2 * lam) ** (2 * p - 1)
        norm = torch.where(omega == 0, length, length / 2)
        return ((lam[..., None] ** 2 + omega**2) ** p * norm / q[..., None]).rsqrt()

    def _waves(self) -> tuple[Tensor, Tensor]:
        """Angular frequencies `[M]` and which of the waves are cosines: 1, cos, sin, cos, sin, ..."""
        m = torch.arange(self.num_inducing, device=self.start.device)
        omega = 2 * math.pi * ((m + 1) // 2).to(self.start) / (self.end - self.start)
        return omega, (m % 2 == 1) | (m == 0)

    @staticmethod
    def _state(omega: Tensor, cosine: Tensor, phase: Tensor, p: int) -> Tensor:
        """φ and its first p - 1 derivatives at a phase, stacked."""
        angle = torch.where(cosine, phase, phase - math.pi / 2)
        return torch.stack([omega**j * torch.cos(angle + j * math.pi / 2) for j in range(p)])


def _matern(kernel: Kernel) -> tuple[int, Tensor, Tensor]:
    """(p, λ, v) of a scaled Matérn kernel, ν = p - 1/2; λ and v are `[*L]`."""
    parts = components(kernel)
    if len(parts) != 1 or not parts[0].is_simple or parts[0].factors[0].smoothness not in (0.5, 1.5, 2.5):
        found = " + ".join(part.name for part in parts)
        raise UnsupportedKernelError(
            f"FourierFeatures support a single scaled MaternKernel with nu = 0.5, 1.5 or 2.5, got {found}; "
            "use LegS or CosS for other kernels over time"
        )
    (matern,) = parts[0].factors
    lengthscale, nu = matern.lengthscale, matern.smoothness
    if lengthscale.shape[-1] != 1:
        raise UnsupportedKernelError(f"FourierFeatures need one lengthscale, got ard_num_dims={lengthscale.shape[-1]}")
    lam, v = torch.broadcast_tensors(math.sqrt(2 * nu) / lengthscale[..., 0, 0], parts[0].variance)
    return round(nu + 0.5), lam, v


def _hyperparameters(kernel: Kernel) -> Tensor:
    """The hyperparameters that the variables depend on, to detect changes."""
    _, lam, v = _matern(kernel)
    return torch.stack([lam.detach(), v.detach()])


def _state_covariance(p: int, lam: Tensor, v: Tensor) -> Tensor:
    """P = cov of (f, f', f'')[:p] at one input, `[*L, p, p]`."""
    one, zero = torch.ones_like(lam), torch.zeros_like(lam)
    if p == 1:
        rows = [[one]]
    elif p == 2:
        rows = [[one, zero], [zero, lam**2]]
    else:
        rows = [[one, zero, -(lam**2) / 3], [zero, lam**2 / 3, zero], [-(lam**2) / 3, zero, lam**4]]
    return v[..., None, None] * torch.stack([torch.stack(row, -1) for row in rows], -2)
