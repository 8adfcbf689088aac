"""Legendre polynomials and Gauss-Legendre quadrature on [-1, 1]."""

from functools import lru_cache

import numpy as np
import torch
from scipy.special import roots_legendre
from torch import Tensor


@lru_cache(maxsize=64)
def _gauss_legendre(num_nodes: int) -> tuple[Tensor, Tensor]:
    nodes, weights = roots_legendre(num_nodes)
    return torch.from_numpy(np.asarray(nodes)), torch.from_numpy(np.asarray(weights))


def gauss_legendre(num_nodes: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights, `[Q]` each, exact for polynomials of degree 2Q - 1 on [-1, 1].

    Args:
        num_nodes: Q.
        like: A tensor whose device and dtype the result takes.
    """
    nodes, weights = _gauss_legendre(num_nodes)
    return nodes.to(like), weights.to(like)


def legendre(s: Tensor, degree: int) -> Tensor:
    """P_0(s) .. P_{degree - 1}(s), `[..., degree]`.

    (m + 1) P_{m+1} = (2m + 1) s P_m - m P_{m-1}
    """
    rows = s.new_empty(max(degree, 2), *s.shape)
    rows[0], rows[1] = 1.0, s
    for m in range(1, degree - 1):
        torch.addcmul(rows[m - 1] * (-m / (m + 1)), s, rows[m], value=(2 * m + 1) / (m + 1), out=rows[m + 1])
    return rows[:degree].movedim(0, -1)


def legendre_norms(degree: int, like: Tensor) -> Tensor:
    """sqrt(2m + 1) for m = 0 .. degree - 1: the factors that make P_m orthonormal under the uniform measure."""
    return (2 * torch.arange(degree, dtype=like.dtype, device=like.device) + 1).sqrt()


def orthonormal_legendre(s: Tensor, degree: int) -> Tensor:
    """sqrt(2m+1) P_m(2s - 1) for s in [0, 1], orthonormal under the uniform measure there."""
    return legendre(2 * s - 1, degree) * legendre_norms(degree, s)
