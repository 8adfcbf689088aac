"""The HiPPO ODE, stepped through time as in the paper (sections 2.5 and 3.3), for comparison.

`gpvae.hippo.memory` gives the exact result at a fraction of the cost.
"""

from typing import Literal

import torch
from torch import Tensor

from gpvae.hippo.measures import Measure
from gpvae.utils.linalg import identity_like

Scheme = Literal["euler", "bilinear"]


def evolve(
    measure: Measure,
    memory: Tensor,
    t: Tensor,
    signal: Tensor,
    dt: Tensor,
    scheme: Scheme = "bilinear",
    window: Tensor | None = None,
) -> Tensor:
    """Step dc/dt = (A c + B f) / T from t to t + K Δt, with T taken at the end of each step.

    euler: c ← (I + a A) c + a B f, a = Δt / T; diverges once a M > 2.
    bilinear: c ← (I - a/2 A)^-1 [(I + a/2 A) c + a B f].

    Args:
        measure: A measure with an ODE.
        memory: c(t) of F signals at once, `[..., M, F]`.
        t: Time that the memory holds already.
        signal: Values at the K steps, `[..., K, F]`.
        dt: Duration of a step.
        scheme: `euler` or `bilinear`.
        window: θ of a sliding measure.
    """
    if scheme not in ("euler", "bilinear"):
        raise ValueError(f"scheme must be 'euler' or 'bilinear', got {scheme!r}")
    A, B = measure.ode(memory)
    identity = identity_like(A)
    triangular = not bool(A.triu(1).any())
    for k, values in enumerate(signal.unbind(-2)):
        a = dt * measure.extent / measure.length(t + (k + 1) * dt, window)
        drive = a * B[:, None] * values[..., None, :]
        if scheme == "euler":
            memory = memory + a * (A @ memory) + drive
            continue
        forward = memory + (a / 2) * (A @ memory) + drive
        backward = identity - (a / 2) * A
        if triangular:
            memory = torch.linalg.solve_triangular(backward, forward, upper=False)
        else:
            memory = torch.linalg.solve(backward, forward)
    return memory
