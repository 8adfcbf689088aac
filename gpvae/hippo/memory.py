"""Closed-form memory of a path: a whole block of steps in one update.

A path is piecewise constant: step i holds the value f_i during [i, i+1)·Δt.
"""

import torch
from torch import Tensor

from gpvae.hippo.legendre import gauss_legendre, legendre, legendre_norms, orthonormal_legendre
from gpvae.hippo.measures import Measure, ScaledLegendre


def rescale(size: int, ratio: Tensor) -> Tensor:
    """r G(r) `[M, M]`, which turns a LegS memory of [0, t1] into one of [0, t2] with a signal of zero on [t1, t2].

    G(r)[n, k] = <g_n^(t2), g_k^(t1)> on [0, t1], r = t1 / t2: lower triangular, and exact by M-node
    Gauss-Legendre because g_n^(t2) restricted to [0, t1] is a polynomial of degree n.

    Args:
        size: M.
        ratio: r in [0, 1].
    """
    z, w = gauss_legendre(size, ratio)
    s = (z + 1) / 2
    new, old = orthonormal_legendre(torch.stack([ratio * s, s]), size)
    return ratio * (new.mT @ (old * (w / 2)[:, None])).tril()


def path_weights(size: int, edges: Tensor) -> Tensor:
    """W[i, m] = ∫ g_m ds over step i, the exact LegS projection of a piecewise constant path, `[K, M]`.

    From ∫ P_m = (P_{m+1} - P_{m-1}) / (2m + 1).

    Args:
        size: M.
        edges: The K + 1 ends of the steps as positions in [0, 1] of the support.
    """
    P = legendre(2 * edges - 1, size + 1)
    norms = legendre_norms(size, edges)
    before = torch.cat([torch.zeros_like(P[:, :1]), P[:, : size - 1]], 1)
    integral = (P[:, 1:] - before) / (2 * norms)
    return integral.diff(dim=0)


def transition(
    measure: Measure, t: Tensor, num_steps: int, dt: Tensor, window: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The affine map of `num_steps` steps at once: c(t + K Δt) = decay @ c(t) + Wᵀ f, returned as (decay, W).

    LegS: decay = r G(r), W the exact path weights. Sliding measures: the exact discretisation of their ODE,
    c_{i+1} = E c_i + e f_i with E = exp(AΔt/θ) and e = ∫_0^{Δt/θ} exp(A a) B da, whose powers are gathered
    by doubling.

    Args:
        measure: Scaled Legendre, or any translated measure.
        t: Time that the memory holds already.
        num_steps: K.
        dt: Δt.
        window: θ of a sliding measure.
    """
    if not measure.sliding:
        if type(measure) is not ScaledLegendre:
            raise NotImplementedError(
                f"{type(measure).__name__} has no closed-form update along a path; use ScaledLegendre"
            )
        t2 = t + num_steps * dt
        edges = (t + dt * torch.arange(num_steps + 1, dtype=t.dtype, device=t.device)) / t2
        return rescale(measure.size, t / t2), path_weights(measure.size, edges)
    A, B = measure.ode(t)
    M = measure.size
    augmented = torch.zeros(M + 1, M + 1, dtype=t.dtype, device=t.device)
    augmented[:M, :M], augmented[:M, M] = A, B
    step = torch.linalg.matrix_exp(augmented * (dt * measure.extent / measure.length(t, window)))
    E, columns = step[:M, :M], step[:M, M:]
    power = E
    while columns.shape[1] < num_steps:  # [e, Ee, .., E^(n-1) e] -> 2n columns
        columns = torch.cat([columns, power @ columns], 1)
        power = power @ power
    return torch.linalg.matrix_power(E, num_steps), columns[:, :num_steps].flip(1).mT


def absorb_path(
    measure: Measure, memory: Tensor, t: Tensor, signal: Tensor, dt: Tensor, window: Tensor | None = None
) -> Tensor:
    """The memory at t + K Δt, from the memory at t and the K values of the path in between.

    Args:
        measure: Scaled Legendre, or any translated measure.
        memory: c(t) of F signals at once, `[..., M, F]`.
        t: Time that the memory holds already.
        signal: Values, `[..., K, F]`.
        dt: Duration of a step.
        window: θ of a sliding measure.
    """
    decay, W = transition(measure, t, signal.shape[-2], dt, window)
    return decay @ memory + W.mT @ signal
