"""Kernels over time are those of gpytorch."""

import pytest
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel

from gpvae.kernels import TimeMaternKernel, TimeRBFKernel, covariance, variance

PAIRS = [
    (TimeRBFKernel, RBFKernel, {}),
    *((TimeMaternKernel, MaternKernel, {"nu": nu}) for nu in (0.5, 1.5, 2.5)),
]


@pytest.mark.parametrize(("ours", "theirs", "options"), PAIRS)
def test_values_and_derivatives(ours: type[Kernel], theirs: type[Kernel], options: dict[str, float]) -> None:
    x, z = torch.linspace(0, 9, 7, dtype=torch.float64)[:, None], torch.linspace(-2, 5, 4, dtype=torch.float64)[:, None]
    results = []
    for kind in (ours, theirs):
        kernel = kind(batch_shape=torch.Size([2]), **options).double()
        kernel.lengthscale = torch.tensor([1.0, 3.0])[:, None, None]
        pairs = kernel(x[:4].expand(2, 4, 1), z.expand(2, 4, 1), diag=True)
        values = [covariance(kernel, x, z), covariance(kernel, x, x), variance(kernel, x), pairs]
        weighted = sum((value * torch.arange(value.numel()).view_as(value).cos()).sum() for value in values)
        weighted.backward()
        results.append([*values, kernel.raw_lengthscale.grad])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)
