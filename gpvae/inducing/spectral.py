"""Random Fourier features of stationary kernels: k(x, x') ≈ Σ_r a_r cos ω_r·(x - x') (paper, section 3.2)."""

from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import torch
from gpytorch.kernels import Kernel
from scipy import stats
from torch import Tensor

from gpvae.kernels import Component, components
from gpvae.utils import checks

Sampling = Literal["plain", "orthogonal", "qmc"]


def draw_frequencies(kernel: Kernel, dim: int, num: int, sampling: Sampling = "orthogonal", seed: int = 0) -> Tensor:
    """Frequencies of the kernel's components at unit lengthscale, one component after the other, `[R, D]`.

    RBF: ω ~ N(0, I). Matérn-ν: ω = z sqrt(2ν / χ²_2ν), a multivariate Student t.
    `plain` draws independently, `orthogonal` in blocks of D orthogonal directions with independent radii
    (Yu et al. 2016), `qmc` maps a scrambled Sobol sequence through the inverse distribution functions.

    Args:
        kernel: A sum of scaled RBF and Matérn kernels.
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
    draws = [_draw(part.smoothness, dim, n, sampling, rng) for part, n in zip(parts, _shares(num, parts), strict=True)]
    return torch.from_numpy(np.concatenate(draws))


def frequencies(kernel: Kernel, base: Tensor) -> Tensor:
    """ω = base / lengthscale for the frequencies of `draw_frequencies`, `[*L, R, D]`."""
    parts = components(kernel)
    blocks = base.split(_shares(len(base), parts))
    return _joined([_scaled(part, block) for part, block in zip(parts, blocks, strict=True)], -2)


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
    return max(_quantile(part.smoothness, tail) / float(part.lengthscale.detach().min()) for part in components(kernel))


def _joined(blocks: list[Tensor], dim: int) -> Tensor:
    """Concatenate along an axis, after broadcasting the axes before it."""
    batch = torch.broadcast_shapes(*(block.shape[:dim] for block in blocks))
    return torch.cat([block.expand(*batch, *block.shape[dim:]) for block in blocks], dim)


@lru_cache
def _quantile(nu: float, tail: float) -> float:
    """|ω| that a share `tail` of the spectrum exceeds at unit lengthscale."""
    return float(stats.norm.isf(tail / 2) if np.isinf(nu) else stats.t.isf(tail / 2, df=2 * nu))


def _shares(num: int, parts: list[Component]) -> list[int]:
    return [len(share) for share in np.array_split(np.arange(num), len(parts))]


def _scaled(part: Component, base: Tensor) -> Tensor:
    """Divide by the lengthscale; dimensions outside the kernel's `active_dims` get frequency zero."""
    active = part.active_dims
    if active is None:
        return base / part.lengthscale
    mask = torch.zeros(base.shape[-1], dtype=base.dtype, device=base.device).index_fill(0, active, 1.0)
    lengthscale = part.lengthscale
    if lengthscale.shape[-1] > 1:
        full = torch.ones(*lengthscale.shape[:-1], base.shape[-1], dtype=base.dtype, device=base.device)
        lengthscale = full.index_copy(-1, active, lengthscale)
    return base * mask / lengthscale


def _draw(nu: float, dim: int, num: int, sampling: Sampling, rng: np.random.Generator) -> np.ndarray:
    if sampling == "qmc":
        sobol = stats.qmc.Sobol(dim + 1, rng=rng)
        uniform = sobol.random_base2(int(np.ceil(np.log2(num))))[:num].clip(1e-12, 1 - 1e-12)
        normal, spread = stats.norm.ppf(uniform[:, :dim]), uniform[:, dim]
    elif sampling == "orthogonal":
        blocks = [np.linalg.qr(rng.standard_normal((dim, dim)))[0] for _ in range(-(-num // dim))]
        radii = np.sqrt(stats.chi2.ppf(rng.random((num, 1)), df=dim))
        normal, spread = radii * np.concatenate(blocks)[:num], rng.random(num)
    else:
        normal, spread = rng.standard_normal((num, dim)), rng.random(num)
    if np.isinf(nu):
        return normal
    return normal * np.sqrt(2 * nu / stats.chi2.ppf(spread, df=2 * nu))[:, None]
