"""Two moons in three tasks: a path memory of twenty variables keeps the decision boundary (paper, appendix F.3)."""

import math

import pytest
import torch
from gpytorch.likelihoods import BernoulliLikelihood
from torch import Tensor

from gpvae import OnlineGP
from gpvae.inducing import LegSPath
from tests.toys import rbf


def two_moons(num: int = 300, noise: float = 0.05) -> tuple[Tensor, Tensor]:
    """Two interleaved half circles, in order of the first dimension."""
    rng = torch.Generator().manual_seed(0)
    angle = math.pi * torch.rand(num, generator=rng, dtype=torch.float64)
    y = (torch.arange(num) % 2).double()
    upper = torch.stack([angle.cos(), angle.sin()], -1)
    lower = torch.stack([1 - angle.cos(), 0.5 - angle.sin()], -1)
    x = torch.where(y[:, None] == 1, upper, lower)
    x = x + noise * torch.randn(x.shape, generator=rng, dtype=torch.float64)
    order = x[:, 0].argsort()
    return x[order], y[order]


@pytest.mark.parametrize("ordering", ["random", "kernel_max"])
def test_every_task_is_still_classified_after_the_last(ordering: str) -> None:
    x, y = two_moons()
    gp = OnlineGP(LegSPath(20, ordering=ordering), rbf(0.5, 5.0), BernoulliLikelihood())
    for task in zip(x.split(100), y.split(100), strict=True):
        gp.update(*task)
    assert torch.equal(gp.predict(x).mean > 0.5, y == 1)
