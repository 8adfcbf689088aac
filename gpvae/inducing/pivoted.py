"""Inducing points by pivoted Cholesky: OVC and OVC-optZ (Maddox et al. 2021, Burt et al. 2019)."""

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.inducing.points import Points
from gpvae.kernels import covariance, variance

#: Maximum number of candidates whose covariance is computed as a whole; for more it is computed row by row.
MAX_CANDIDATES = 4096
#: A remaining variance below this share of the prior variance is rounding error, and counts as zero.
NEGLIGIBLE = 1e-10
#: Relative difference below which scores are equal, so that points do not depend on rounding.
TOLERANCE = 1e-9


def greedy_points(kernel: Kernel, candidates: Tensor, num: int, shared: bool) -> Tensor:
    """Pick points one by one, each where the variance given the previous ones is largest.

    This is the pivot order of the partial Cholesky factorisation of k(candidates, candidates). Among points with equal
    variance, and if no variance remains, the point least correlated with the previous ones is picked.

    Args:
        kernel: Kernel of batch shape `*L`.
        candidates: `[N, D]`, or `[*L, N, D]`.
        num: Number of points to pick, at most N.
        shared: Pick one set for all latent dimensions, by the mean of their relative variances, instead of one each.

    Returns:
        Distinct indices, `[num]` if shared, else `[*L, num]`.
    """
    prior = variance(kernel, candidates)
    left = prior.clone()
    small = candidates.shape[-2] <= MAX_CANDIDATES
    K = covariance(kernel, candidates, candidates) if small else None
    rows = prior.new_zeros(*prior.shape[:-1], num, prior.shape[-1])  # of the Cholesky factor [*L, num, N]
    floor = torch.finfo(prior.dtype).eps * prior.amax(-1, keepdim=True)
    shared = shared and prior.ndim > 1
    closest = torch.full_like(_mean(prior) if shared else prior, -1.0)  # greatest correlation with a picked one
    picked: list[Tensor] = []
    for i in range(num):
        share = torch.where(prior > 0, left / prior, 0.0)
        share = _mean(share) if shared else share
        score = torch.where(share > NEGLIGIBLE, share, -1 - closest)
        if picked:
            score = score.scatter(-1, torch.cat(picked, -1), -torch.inf)
        apart = torch.where(_greatest(score), -closest, -torch.inf)
        pivot = _greatest(apart).int().argmax(-1, keepdim=True)  # the first of them, [1] or [*L, 1]
        picked.append(pivot)
        row = covariance(kernel, _select_rows(candidates, pivot), candidates) if K is None else _select_rows(K, pivot)
        at = pivot.expand(*left.shape[:-1], 1)
        scale = (prior * prior.gather(-1, at)).sqrt()
        correlation = torch.where(scale > 0, row[..., 0, :] / scale, 1.0)  # a value without variance is known
        closest = torch.maximum(closest, _mean(correlation) if shared else correlation)
        row = (row - _select_rows(rows[..., :i, :].mT, pivot) @ rows[..., :i, :])[..., 0, :]
        rows[..., i, :] = row / torch.maximum(left.gather(-1, at), floor).sqrt()
        left = (left - rows[..., i, :] ** 2).clamp_min(0)
    return torch.cat(picked, -1)


def _greatest(scores: Tensor) -> Tensor:
    """Which scores `[..., N]` equal the largest."""
    best = scores.amax(-1, keepdim=True)
    return scores >= best - TOLERANCE * best.abs()


def _mean(values: Tensor) -> Tensor:
    """The mean of values `[*L, N]` over latent dimensions, `[N]`."""
    return values.flatten(0, -2).mean(0)


def _select_rows(candidates: Tensor, indices: Tensor) -> Tensor:
    """Rows of `[*L, N, D]` by indices `[m]` or `[*L, m]`."""
    if indices.ndim == 1:
        return candidates[..., indices, :]
    candidates = candidates.expand(*indices.shape[:-1], *candidates.shape[-2:])
    return candidates.gather(-2, indices[..., None].expand(*indices.shape, candidates.shape[-1]))


class PivotedPoints(Points):
    """Points re-selected for each task from the old points and the new inputs by pivoted Cholesky.

    Args:
        num_inducing: Number of points M.
        trainable: Optimise the points after selecting them (OVC-optZ).
        input_dim: Input dimension; needed in advance only if shapes must not change later (DDP).
        seed: Seed of random points, if there are fewer inputs than points.
    """

    #: One set of points for all latent dimensions.
    shared = True

    def __init__(self, num_inducing: int, trainable: bool = False, input_dim: int = 1, seed: int = 0) -> None:
        super().__init__(num_inducing, trainable=trainable, input_dim=input_dim, seed=seed)

    def choose(self, kernel: Kernel, x: Tensor) -> Tensor:
        """The greedy points of old Z ∪ new inputs."""
        candidates = x
        if self.started:
            old = self.Z.to(x)
            candidates = torch.cat([old, x.expand(*old.shape[:-2], *x.shape)], -2)
        num = min(self.num_inducing, candidates.shape[-2])
        chosen = _select_rows(candidates, greedy_points(kernel, candidates, num, self.shared))
        return self._add_random_points(chosen, x, self._rng())


class PerDimPoints(PivotedPoints):
    """Like `PivotedPoints`, but each latent dimension selects its own points with its own kernel.

    Args:
        num_inducing: Number of points M per latent dimension.
        trainable: Optimise the points after selecting them.
        input_dim: Input dimension.
        seed: Seed of random points, if there are fewer inputs than points.
    """

    shared = False
