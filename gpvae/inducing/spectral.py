"""Random Fourier features of stationary kernels: k(x, x') ≈ Σ_r a_r cos ω_r·(x - x') (paper, section 3.2)."""

import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import torch
from gpytorch.kernels import Kernel
from scipy.special import gammaincinv, ndtri, stdtrit
from torch import Tensor

from gpvae.inducing.gamma_mixing import gamma_quantile, tail_frequency
from gpvae.kernels import Component, Factor, components
from gpvae.utils import checks

Sampling = Literal["plain", "orthogonal", "qmc"]


def draw_frequencies(kernel: Kernel, dim: int, num: int, sampling: Sampling = "orthogonal", seed: int = 0) -> Tensor:
    """Frequencies of the kernel's components at unit lengthscale, one component after the other, `[R, D]`.

    RBF: ω ~ N(0, I). Matérn-ν: ω = z sqrt(2ν / χ²_2ν), a multivariate Student t. If there are other kernels or
    products among the components, a row has 2D + 1 numbers for each factor: these frequencies, signs of its waves, and
    a uniform number by which its scale is drawn.
    `plain` draws independently, `orthogonal` in blocks of D orthogonal directions with independent radii
    (Yu et al. 2016), `qmc` maps a scrambled Sobol sequence through the inverse distribution functions.

    Args:
        kernel: A kernel that `components` knows.
        dim: Input dimension D.
        num: Total number of frequencies R, divided evenly among the components.
        sampling: `plain`, `orthogonal` or `qmc`.
        seed: Seed of the draw; equal seeds give equal frequencies on every machine and rank.
    """
    checks.choice("sampling", sampling, get_args(Sampling))
    parts = components(kernel)
    if num < len(parts):
        raise ValueError(f"{num} frequencies are too few for {len(parts)} kernel components; use at least one for each")
    rng = np.random.default_rng(seed)
    shares = _shares(num, parts)
    if all(part.is_simple for part in parts):
        draws = [_draw(part.factors[0], dim, n, sampling, rng) for part, n in zip(parts, shares, strict=True)]
    else:
        most = max(len(part.factors) for part in parts)
        draws = [_draw_product(part, most, dim, n, sampling, rng) for part, n in zip(parts, shares, strict=True)]
    return torch.from_numpy(np.concatenate(draws))


def frequencies(kernel: Kernel, base: Tensor) -> Tensor:
    """The frequencies of a kernel from the draws of `draw_frequencies`, `[*L, R, D]`: base / lengthscale for most."""
    parts = components(kernel)
    blocks = base.split(_shares(len(base), parts))
    simple = all(part.is_simple for part in parts)
    most = max(len(part.factors) for part in parts)
    return _joined(
        [
            _scaled(part.factors[0], block) if simple else _summed(part, block.chunk(most, -1))
            for part, block in zip(parts, blocks, strict=True)
        ],
        -2,
    )


def amplitudes(kernel: Kernel, num: int) -> Tensor:
    """a_r = v / R_c: the variance of each component, divided among its frequencies, `[*L, R]`."""
    parts = components(kernel)
    shares = zip(parts, _shares(num, parts), strict=True)
    return _joined([(part.variance / n)[..., None].expand(*part.variance.shape, n) for part, n in shares], -1)


def features(omega: Tensor, x: Tensor) -> Tensor:
    """H(x) = [cos xΩ, sin xΩ], `[*L, N, 2R]`."""
    phase = x @ omega.mT
    return torch.cat([phase.cos(), phase.sin()], -1)


def bandwidth(kernel: Kernel, tail: float) -> float:
    """Angular frequency beyond which each component of a kernel over time holds less than `tail` of its variance."""
    return max(sum(_bandwidth(factor, tail) for factor in part.factors) for part in components(kernel))


def _bandwidth(factor: Factor, tail: float) -> float:
    if factor.alpha is None:
        at_unit = _quantile(factor.smoothness, tail)
    else:
        at_unit = tail_frequency(float(factor.alpha.detach().min()), tail)
    offset = 0.0 if factor.offset is None else float(factor.offset.detach().max())
    return offset + at_unit / float(factor.lengthscale.detach().min())


def _joined(blocks: list[Tensor], dim: int) -> Tensor:
    """Concatenate along an axis, after broadcasting the axes before it."""
    batch = torch.broadcast_shapes(*(block.shape[:dim] for block in blocks))
    return torch.cat([block.expand(*batch, *block.shape[dim:]) for block in blocks], dim)


@lru_cache
def _quantile(nu: float, tail: float) -> float:
    """|ω| that a share `tail` of the spectrum exceeds at unit lengthscale."""
    return float(-ndtri(tail / 2) if np.isinf(nu) else -stdtrit(2 * nu, tail / 2))


def _shares(num: int, parts: list[Component]) -> list[int]:
    return [len(share) for share in np.array_split(np.arange(num), len(parts))]


def _summed(part: Component, draws: tuple[Tensor, ...]) -> Tensor:
    """The sum of the frequencies of all factors, from draws `[R, 2D + 1]` for each."""
    dim = (draws[0].shape[-1] - 1) // 2
    total: Tensor | None = None
    for factor, draw in zip(part.factors, draws, strict=False):
        z, signs, uniform = draw.split([dim, dim, 1], -1)
        if factor.alpha is not None:
            alpha = factor.alpha[..., None]
            z = z * (gamma_quantile(alpha, uniform) / alpha).sqrt()
        omega = _scaled(factor, z)
        if factor.offset is not None:
            omega = omega + signs * _spread(factor.offset, factor.active_dims, dim, 0.0)
        total = omega if total is None else total + omega
    assert total is not None
    return total


def _scaled(factor: Factor, base: Tensor) -> Tensor:
    """Divide by the lengthscale; dimensions outside the kernel's `active_dims` get frequency zero."""
    active = factor.active_dims
    if active is None:
        return base / factor.lengthscale
    dim = base.shape[-1]
    mask = torch.zeros(dim, dtype=base.dtype, device=base.device).index_fill(0, active, 1.0)
    lengthscale = factor.lengthscale
    if lengthscale.shape[-1] > 1:
        lengthscale = _spread(lengthscale, active, dim, 1.0)
    return base * mask / lengthscale


def _spread(values: Tensor, active: Tensor | None, dim: int, other: float) -> Tensor:
    """Values of the active dimensions `[*L, 1, D']` among all, `[*L, 1, D]`."""
    if active is None:
        return values
    full = torch.full((*values.shape[:-1], dim), other, dtype=values.dtype, device=values.device)
    return full.index_copy(-1, active, values)


def _draw(factor: Factor, dim: int, num: int, sampling: Sampling, rng: np.random.Generator) -> np.ndarray:
    """Frequencies of an RBF or Matérn kernel, `[R, D]`."""
    if sampling == "qmc":
        uniform = _sobol(dim + 1, num, rng)
        normal, spread = ndtri(uniform[:, :dim]), uniform[:, dim]
    elif sampling == "orthogonal":
        normal, spread = _orthogonal(dim, num, rng), rng.random(num)
    else:
        normal, spread = rng.standard_normal((num, dim)), rng.random(num)
    return _student(normal, spread, factor.smoothness)


def _draw_product(
    part: Component, most: int, dim: int, num: int, sampling: Sampling, rng: np.random.Generator
) -> np.ndarray:
    """For each of `most` factors frequencies, signs and uniform numbers, `[R, most (2D + 1)]`; zero where none is."""
    width = 2 * dim + 1
    uniform = (_sobol if sampling == "qmc" else _independent)(width * len(part.factors), num, rng)
    draws = np.zeros((num, width * most))
    for i, factor in enumerate(part.factors):
        columns = uniform[:, i * width : (i + 1) * width]
        if sampling == "orthogonal":  # signs, which do not matter to a cosine, do to the sum of two frequencies
            normal = _orthogonal(dim, num, rng) * rng.choice([-1.0, 1.0], (num, 1))
        else:
            normal = ndtri(columns[:, :dim])
        signs, spread = np.where(columns[:, dim : 2 * dim] < 0.5, -1.0, 1.0), columns[:, -1]
        omega = _student(normal, spread, factor.smoothness)
        draws[:, i * width : (i + 1) * width] = np.concatenate([omega, signs, spread[:, None]], 1)
    return draws


def _student(normal: np.ndarray, spread: np.ndarray, nu: float) -> np.ndarray:
    """Student t with 2ν degrees of freedom, from normal and uniform numbers; normal if ν is infinite."""
    return normal if math.isinf(nu) else normal * np.sqrt(nu / gammaincinv(nu, spread))[:, None]


def _sobol(dim: int, num: int, rng: np.random.Generator) -> np.ndarray:
    from scipy.stats import qmc  # imported late: it takes a fifth of the time that torch takes

    points = qmc.Sobol(dim, rng=rng).random_base2(int(np.ceil(np.log2(num))))
    return points[:num].clip(1e-12, 1 - 1e-12)


def _independent(dim: int, num: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random((num, dim)).clip(1e-12, 1 - 1e-12)


def _orthogonal(dim: int, num: int, rng: np.random.Generator) -> np.ndarray:
    blocks = [np.linalg.qr(rng.standard_normal((dim, dim)))[0] for _ in range(-(-num // dim))]
    radii = np.sqrt(2 * gammaincinv(dim / 2, rng.random((num, 1))))
    return radii * np.concatenate(blocks)[:num]
