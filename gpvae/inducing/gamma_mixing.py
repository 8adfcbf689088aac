"""The spectrum of a rational quadratic kernel: ω = z sqrt(g / α) with z ~ N(0, 1), g ~ Gamma(α, 1).

(1 + r²/2α)^-α is the mean of exp(-r² g / 2α), an RBF kernel with a random lengthscale.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammaincinv, gammaln, kve
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

#: The tail is integrated piece by piece, in units of its decay.
STRETCHES = ((0.0, 1.0), (1.0, 10.0), (10.0, 100.0), (100.0, 1000.0))


class _GammaQuantile(torch.autograd.Function):
    """g with P(Gamma(α, 1) <= g) = u; the gradient with respect to α holds u fixed."""

    @staticmethod
    def forward(ctx: FunctionCtx, alpha: Tensor, u: Tensor) -> Tensor:
        g = torch.from_numpy(np.asarray(gammaincinv(alpha.detach().cpu().numpy(), u.detach().cpu().numpy()))).to(alpha)
        ctx.save_for_backward(alpha.expand_as(g), g)
        return g

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        alpha, g = ctx.saved_tensors  # type: ignore[attr-defined]
        by_alpha = torch._standard_gamma_grad(alpha.contiguous(), g.clamp_min(torch.finfo(g.dtype).tiny))
        return gradient * by_alpha, None


def gamma_quantile(alpha: Tensor, u: Tensor) -> Tensor:
    """Quantiles of Gamma(α, 1) at probabilities u, of a common shape, differentiable in α."""
    alpha, u = torch.broadcast_tensors(alpha, u)
    return _GammaQuantile.apply(alpha, u)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=256)
def tail_frequency(alpha: float, tail: float) -> float:
    """|ω| that a share `tail` of the spectrum exceeds at unit lengthscale, from the variance-gamma density."""
    rate, order = math.sqrt(2 * alpha), alpha - 0.5
    scale = math.log(rate) - 0.5 * math.log(math.pi) - gammaln(alpha)

    def density(w: float) -> float:
        z = rate * w
        return math.exp(scale + order * math.log(z / 2) - z) * kve(order, z)

    def log_excess(log_w: float) -> float:
        start = math.exp(log_w)
        beyond = 2 * sum(quad(density, start + a / rate, start + b / rate)[0] for a, b in STRETCHES)
        return math.log(max(beyond, 1e-300)) - math.log(tail)

    return math.exp(brentq(log_excess, math.log(1e-9), math.log(1e4 / rate)))
