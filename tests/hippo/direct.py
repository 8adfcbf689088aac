"""The direct matrix ODE for kuu of LegS (appendix B.2, corrected). Kept for comparison.

dK/dt = (A K + K Aᵀ + c Bᵀ + B cᵀ) / t with c_m(t) = ∫ k(t, x) φ_m^(t)(x) dx and B_m = sqrt(2m+1); the paper's
boundary term lacks the factors B. The system is stiff: its eigenvalues reach -2M/t.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from gpvae.hippo.measures import ScaledLegendre


def boundary(correlation: Callable[[Tensor], Tensor], size: int, t: Tensor, num_nodes: int) -> Tensor:
    """c_m(t) = (-1)^m c̃_m, where c̃ is the LegS projection of the lag function k(d) on [0, t]."""
    measure = ScaledLegendre(size)
    s, Phi = measure.projection(num_nodes, t)
    parity = (-1.0) ** torch.arange(size, dtype=t.dtype, device=t.device)
    return parity * (Phi.mT @ correlation(t * s))


def evolve_kuu(
    correlation: Callable[[Tensor], Tensor],
    kuu: Tensor,
    start: Tensor,
    end: Tensor,
    num_steps: int,
    scheme: Literal["euler", "rk4"] = "euler",
    num_nodes: int = 128,
) -> Tensor:
    """Step kuu of LegS from time `start` to `end`.

    Args:
        correlation: k as a function of the lag, of a stationary kernel.
        kuu: Covariance at `start`, `[M, M]`.
        start: Time of `kuu`, above zero.
        end: Time to reach.
        num_steps: Steps of equal length.
        scheme: `euler` as in the paper, or `rk4`.
        num_nodes: Quadrature nodes for the boundary term.
    """
    size = kuu.shape[-1]
    A, B = ScaledLegendre(size).ode(kuu)

    def slope(t: Tensor, K: Tensor) -> Tensor:
        half = A @ K + torch.outer(boundary(correlation, size, t, num_nodes), B)
        return (half + half.mT) / t

    dt = (end - start) / num_steps
    for i in range(num_steps):
        t = start + i * dt
        k1 = slope(t, kuu)
        if scheme == "euler":
            kuu = kuu + dt * k1
            continue
        k2 = slope(t + dt / 2, kuu + dt / 2 * k1)
        k3 = slope(t + dt / 2, kuu + dt / 2 * k2)
        k4 = slope(t + dt, kuu + dt * k3)
        kuu = kuu + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return kuu
