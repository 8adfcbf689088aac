"""Predictive density of a task given the past, in closed form, and the overall scale of kernel and noise."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpvae.bounds import CHUNK_SIZE
from gpvae.sites import Site, gaussian_site, residual_variance
from gpvae.streaming import Frame
from gpvae.utils.linalg import log_det


@dataclass(frozen=True)
class Evidence:
    """log p(task | past) = -½ (log_det + quadratic), of Gaussian data.

    The past is assumed to act through the inducing variables at the end of the task. Given these, the points of the
    task are independent: y ~ N(aᵀm, aᵀΣa + diag(kff - qff) + noise). There is no trace term, which would favour smooth
    and noisy members.

    Attributes:
        log_det: log det(2π S), `[*L]`.
        quadratic: (y - aᵀm)ᵀ S⁻¹ (y - aᵀm), `[*L]`.
        num: Number of points, or sum of their weights, `[*L]`.
    """

    log_det: Tensor
    quadratic: Tensor
    num: Tensor

    def log_density(self, dof: Tensor, square: Tensor) -> Tensor:
        """log p(task | past), `[*L]`, if S is known up to a factor s ~ inverse gamma(dof / 2, square / 2).

        Args:
            dof: Degrees of freedom, `[*L]`.
            square: Sum of squares, `[*L]`.
        """
        a, b = dof / 2, square / 2
        a_new, b_new = a + self.num / 2, b + self.quadratic / 2
        return torch.lgamma(a_new) - torch.lgamma(a) + a * b.log() - a_new * b_new.log() - 0.5 * self.log_det


def learn_gaussian(
    frame: Frame, past: Site, noise: Tensor, x: Tensor, y: Tensor, power: float, weights: Tensor | None
) -> tuple[Site, Evidence]:
    """The site of past and task, and how well the past predicted the task.

    Args:
        frame: The frame of the task.
        past: The past site in it.
        noise: Noise variance, broadcast to `[*L, N]`.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        power: α of power expectation propagation.
        weights: Powers of the points' likelihoods, broadcast to `[*L, N]`; one if not given.
    """
    w = torch.ones_like(y) if weights is None else weights.expand(y.shape)
    noise = noise.expand(y.shape)
    site, predicted = past, past
    square = log_det_noise = torch.zeros_like(past.c)
    for start in range(0, len(x), CHUNK_SIZE):
        part = slice(start, start + CHUNK_SIZE)
        a, prior = frame.features(x[part])
        residual, y_part, w_part = residual_variance(a, prior), y[..., part], w[..., part]
        site = site + gaussian_site(a, y_part, noise[..., part], residual, power, None if weights is None else w_part)
        s = noise[..., part] + residual
        predicted = predicted + gaussian_site(a, y_part, s, torch.zeros_like(s), 0.0, w_part)
        square = square + (w_part * y_part**2 / s).sum(-1)
        log_det_noise = log_det_noise + (w_part * torch.log(2 * math.pi * s)).sum(-1)
    (before, half), (after, half_new) = past.factors(), predicted.factors()
    quadratic = square + (half**2).sum(-1) - (half_new**2).sum(-1)
    log_det_all = log_det_noise + log_det(after) - log_det(before)
    return site, Evidence(log_det_all, quadratic.clamp_min(0), w.sum(-1))
