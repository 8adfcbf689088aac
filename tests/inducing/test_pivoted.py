"""Points by pivoted Cholesky agree with its definition, and are never fewer than requested."""

import numpy as np
import pytest
import torch
from gpytorch.kernels import LinearKernel, RBFKernel
from torch import Tensor

from gpvae.inducing import PerDimPoints, PivotedPoints
from gpvae.inducing.pivoted import greedy_points
from tests.toys import rbf

X = torch.linspace(0, 10, 200, dtype=torch.float64)[:, None]


def two_kernels() -> RBFKernel:
    """A smooth kernel, which few points explain, and a rougher one."""
    kernel = RBFKernel(batch_shape=torch.Size([2])).double()
    kernel.lengthscale = torch.tensor([3.0, 1.0])[:, None, None]
    return kernel


def spread(Z: Tensor) -> float:
    """The widest gap between points."""
    return float(Z.flatten().sort().values.diff().max())


@torch.no_grad()
def test_each_point_has_the_largest_variance_given_those_before() -> None:
    x = torch.rand(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    kernel = rbf(0.3, 2.0)
    K = kernel(x).to_dense().numpy()
    picked: list[int] = []
    for pivot in greedy_points(kernel, x, 8, shared=True).tolist():
        left = np.diag(K - K[:, picked] @ np.linalg.solve(K[np.ix_(picked, picked)], K[picked])).copy()
        left[picked] = -1
        assert left[pivot] == pytest.approx(left.max())
        picked.append(pivot)


@torch.no_grad()
@pytest.mark.parametrize("family", [PivotedPoints, PerDimPoints])
def test_points_are_as_many_and_spread_out_where_few_would_explain_all(family: type[PivotedPoints]) -> None:
    """60 of 200 inputs, although 20 explain the smoother function to the last bit: kernels may change later."""
    points, kernel = family(60), two_kernels()
    points.advance(kernel, X[:100])
    points.advance(kernel, X)
    for Z in points.Z.reshape(-1, 60):
        assert len(Z.unique()) == 60
        assert spread(Z) < 3.5 * 10 / 60


@torch.no_grad()
def test_points_do_not_depend_on_last_bits() -> None:
    """Other processors may round differently."""
    noise = 1 + 1e-15 * torch.randn(X.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for kernel, shared in ((rbf(0.2, 1.0), True), (rbf(2.0, 1.0), True), (two_kernels(), True), (two_kernels(), False)):
        picked = [greedy_points(kernel, x, 50, shared) for x in (X, X * noise)]
        assert torch.equal(*picked)


@torch.no_grad()
@pytest.mark.parametrize("shared", [True, False])
def test_inputs_without_prior_variance_are_picked_after_others(shared: bool) -> None:
    """Such as the origin of a linear kernel. No point is picked twice."""
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    kernel = LinearKernel(batch_shape=torch.Size([2])).double()
    picked = greedy_points(kernel, x, 5, shared).reshape(-1, 5)
    for indices in picked.tolist():
        assert indices[:2] == [1, 2]
        assert sorted(indices) == [0, 1, 2, 3, 4]
    nowhere = greedy_points(LinearKernel().double(), torch.zeros(3, 2, dtype=torch.float64), 3, shared)
    assert sorted(nowhere.flatten().tolist()) == [0, 1, 2]
