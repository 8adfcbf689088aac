"""Orders in which a path visits the points of a task (paper, sections 3.3 and 5.2, appendix F.3)."""

from typing import Literal, get_args

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.kernels import covariance
from gpvae.utils import checks

Ordering = Literal["given", "first_dimension", "l2_norm", "random", "kernel_max", "kernel_min"]


def order(ordering: Ordering, kernel: Kernel, x: Tensor, previous: Tensor | None = None, seed: int = 0) -> Tensor:
    """Indices that put the points of a task in order, `[N]`.

    given: unchanged. first_dimension, l2_norm: by x[:, 0] or ‖x‖ (the oracle order of OHSVGP-o, if the tasks were made
    by it). random: a seeded permutation. kernel_max (OHSVGP-k), kernel_min: a greedy walk, where x_i is the remaining
    point whose k(x, x_{i-1}) is largest, or smallest, starting from the zero vector in the first task and from the
    last point of the previous task in later ones.

    Args:
        ordering: One of the above.
        kernel: Kernel of the greedy walk; kernels of several latent dimensions are averaged.
        x: Points, `[N, D]`.
        previous: Last point of the previous task, `[D]`.
        seed: Seed of the random order.
    """
    checks.choice("ordering", ordering, get_args(Ordering))
    if ordering == "first_dimension":
        return x[:, 0].argsort(stable=True)
    if ordering == "l2_norm":
        return x.norm(dim=-1).argsort(stable=True)
    if ordering == "random":
        return torch.randperm(len(x), generator=torch.Generator().manual_seed(seed)).to(x.device)
    if ordering == "given":
        return torch.arange(len(x), device=x.device)
    start = torch.zeros_like(x[0]) if previous is None else previous
    return _walk(kernel, x, start, sign=1.0 if ordering == "kernel_max" else -1.0)


def _walk(kernel: Kernel, x: Tensor, start: Tensor, sign: float) -> Tensor:
    similarity = covariance(kernel, torch.cat([start[None], x]), x)
    similarity = sign * similarity.reshape(-1, *similarity.shape[-2:]).mean(0)
    taken = torch.zeros(len(x), dtype=x.dtype, device=x.device)
    path, row = [], 0
    for _ in range(len(x)):
        nearest = int((similarity[row] + taken).argmax())
        path.append(nearest)
        taken[nearest] = -torch.inf
        row = nearest + 1
    return torch.tensor(path, device=x.device)
