"""HiPPO measures with their orthonormal bases and ODEs (paper, section 2.5 and appendices A and F.4).

Notation: t is the time since the origin of the memory, θ (`window`) the length of a sliding window, and
s in [0, 1] the position within the support of the measure, 0 at its oldest and 1 at its newest end.
The memory of a signal f is c_m(t) = ∫ f(x) g_m(x) ω(x) dx, where ∫ g_m g_n ω = δ_mn.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from gpvae.hippo.legendre import gauss_legendre, legendre_norms, orthonormal_legendre


class Measure(ABC):
    """A measure that moves with time and `size` functions orthonormal under it.

    Args:
        size: Number of basis functions M.
    """

    #: The support is a window that slides with t; otherwise it is the whole past [0, t].
    sliding: ClassVar[bool] = False
    #: Length of the support in units of the window.
    extent: ClassVar[float] = 1.0

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a memory needs at least one basis function, got size={size}")
        self.size = size

    @abstractmethod
    def basis(self, s: Tensor) -> Tensor:
        """g_m at the relative positions s, `[..., M]`."""

    @abstractmethod
    def ode(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """A `[M, M]` and B `[M]` of dc/dt = (A c + B f(t)) / T, with T = t, or T = θ for a sliding window."""

    @property
    def degree(self) -> float:
        """Degree of a polynomial that oscillates as fast as the fastest basis function."""
        return self.size

    @property
    def max_nodes(self) -> int:
        """Quadrature nodes that suffice for any kernel whose signal the basis can follow."""
        return max(256, 5 * self.size)

    def size_needed(self, radians: float) -> float:
        """Number of basis functions that resolve a wave of `radians` across the support: π per wavelength."""
        return radians / 2

    def density(self, s: Tensor) -> Tensor:
        """Density of the measure in s; uniform unless overridden."""
        return torch.ones_like(s)

    def length(self, t: Tensor, window: Tensor | None = None) -> Tensor:
        """Length of the support at time t."""
        if not self.sliding:
            return t
        if window is None:
            raise ValueError(f"{type(self).__name__} slides a window over time and requires its length `window`")
        return self.extent * window

    def projection(self, num_nodes: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes s_q `[Q]` and Φ `[Q, M]` with c ≈ Φᵀ f(s_q): Φ[q, m] = g_m(s_q) ω(s_q) w_q / 2.

        Neither depends on t, because basis and measure only stretch or slide with it.
        """
        z, w = gauss_legendre(num_nodes, like)
        s = (z + 1) / 2
        return s, self.basis(s) * (self.density(s) * w / 2)[:, None]


class ScaledLegendre(Measure):
    """Scaled Legendre (LegS): uniform over the whole past [0, t], g_m = sqrt(2m+1) P_m(2x/t - 1)."""

    def basis(self, s: Tensor) -> Tensor:
        """sqrt(2m+1) P_m(2s - 1)."""
        return orthonormal_legendre(s, self.size)

    def ode(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """A_nk = -sqrt((2n+1)(2k+1)) below and -(n+1) on the diagonal, B_n = sqrt(2n+1) (appendix A, corrected)."""
        B = legendre_norms(self.size, like)
        n = torch.arange(self.size, dtype=like.dtype, device=like.device)
        return -torch.outer(B, B).tril(-1) - torch.diag(n + 1), B


class Sinusoids(Measure):
    """A measure whose basis functions are sines and cosines."""

    @property
    def degree(self) -> float:
        """M half waves need a polynomial of degree π M / 2."""
        return self.size * math.pi / 2

    def size_needed(self, radians: float) -> float:
        """Two per wavelength."""
        return radians / math.pi


class ScaledCosine(Sinusoids):
    """Scaled cosines (CosS): uniform over the whole past [0, t], g_0 = 1, g_m = sqrt(2) cos(π m x / t).

    Two functions per wavelength where Legendre polynomials need π. Its derivative in t leaves the span of the
    basis, so there is no finite ODE: the memory exists in closed form only.
    """

    def basis(self, s: Tensor) -> Tensor:
        """sqrt(2) cos(π m s), and 1 for m = 0."""
        m = torch.arange(self.size, dtype=s.dtype, device=s.device)
        waves = math.sqrt(2) * torch.cos(math.pi * m * s[..., None])
        return torch.where(m == 0, torch.ones_like(waves), waves)

    def ode(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Does not exist."""
        raise NotImplementedError(
            "scaled cosines have no finite ODE: d/dt leaves the span of the basis; use the projection"
        )


class TranslatedLegendre(ScaledLegendre):
    """Translated Legendre (LegT): uniform over the window [t - θ, t], g_m = sqrt(2m+1) P_m(1 - 2(t-x)/θ)."""

    sliding = True

    def ode(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """A_nk = -sqrt((2n+1)(2k+1)) · (1 if k <= n else (-1)^(n-k)), B_n = sqrt(2n+1).

        f(t - θ), which leaves the window, is replaced by its own reconstruction from the memory.
        """
        B = legendre_norms(self.size, like)
        sign = (-1.0) ** torch.arange(self.size, dtype=like.dtype, device=like.device)
        below = torch.ones(self.size, self.size, dtype=like.dtype, device=like.device).tril()
        return -torch.outer(B, B) * (below + torch.outer(sign, sign).triu(1)), B


class TranslatedLaguerre(Measure):
    """Translated Laguerre (LagT): exponentially decaying into the past, g_m = L_m((t-x)/θ), ω = exp(-(t-x)/θ)/θ.

    The support is cut where exp(-(t-x)/2θ), the envelope of g_m ω, falls below the precision of a double.
    """

    sliding = True
    extent = 74.0

    @property
    def degree(self) -> float:
        """L_m oscillates m times within 4mθ; the other term is for the exponential over the cut support."""
        return 2.0 * math.sqrt(self.size * self.extent) + 2 * self.extent

    @property
    def max_nodes(self) -> int:
        """More than for other measures: the support is long, and most of it has little weight."""
        return max(1024, 5 * self.size)

    def size_needed(self, radians: float) -> float:
        """At age θ the local frequency of L_m exp(-a/2) is sqrt(m + 1/4) / θ."""
        return (radians / self.extent) ** 2

    def basis(self, s: Tensor) -> Tensor:
        """L_m(a), a = extent (1 - s): (m + 1) L_{m+1} = (2m + 1 - a) L_m - m L_{m-1}."""
        age = self.extent * (1 - s)
        rows = [torch.ones_like(s), 1 - age]
        for m in range(1, self.size - 1):
            rows.append(((2 * m + 1 - age) * rows[m] - m * rows[m - 1]) / (m + 1))
        return torch.stack(rows[: self.size], -1)

    def density(self, s: Tensor) -> Tensor:
        """extent · exp(-age), age = extent (1 - s)."""
        return self.extent * torch.exp(-self.extent * (1 - s))

    def ode(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """A_nk = -1 for k <= n, B_n = 1."""
        ones = torch.ones(self.size, self.size, dtype=like.dtype, device=like.device)
        return -ones.tril(), ones[0]


class TranslatedFourier(Sinusoids):
    """Translated Fourier (FouT): uniform over [t - θ, t], 1, sqrt(2) cos 2πk(t-x)/θ, sqrt(2) sin 2πk(t-x)/θ."""

    sliding = True

    def basis(self, s: Tensor) -> Tensor:
        """1, then alternating cosine and sine of 2πk(1 - s), each times sqrt(2)."""
        m = torch.arange(self.size, device=s.device)
        phase = 2 * math.pi * ((m + 1) // 2).to(s) * (1 - s[..., None])
        waves = math.sqrt(2) * torch.where(m % 2 == 1, phase.cos(), phase.sin())
        return torch.where(m == 0, torch.ones_like(waves), waves)

    def ode(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """A = D - 2 p pᵀ, B = 2 p: p_n = g_n at x = t, and D turns cosines into sines.

        f(t - θ), which leaves the window, is replaced by its own reconstruction from the memory.
        """
        p = self.basis(torch.ones((), dtype=like.dtype, device=like.device))
        i = torch.arange(self.size - 1, dtype=like.dtype, device=like.device)
        turn = torch.where(i % 2 == 1, math.pi * (i + 1), 0.0)  # 2πk between cosine i = 2k - 1 and sine i + 1
        return torch.diag(turn, -1) - torch.diag(turn, 1) - 2 * torch.outer(p, p), 2 * p
