"""Families over time choose enough quadrature nodes: twice as many do not change kuu."""

import gpytorch.kernels as gk
import pytest
import torch

from gpvae.inducing import CosS, FouT, LagT, LegS, LegT
from gpvae.kernels import covariance

TIME = [LegS, CosS, LegT, FouT, LagT]


@pytest.mark.parametrize("family", TIME, ids=lambda family: family.__name__)
@pytest.mark.parametrize("size", [1, 10, 50, 200])
@pytest.mark.parametrize("lengths", [0.1, 1.0, 10.0, 100.0])
def test_twice_the_nodes_give_the_same_kuu(family: type, size: int, lengths: float) -> None:
    """For RBF to 1e-10 of the largest entry, over M and t / lengthscale."""
    if family is LagT and lengths > 10:
        pytest.skip("74 windows of 100 lengthscales each: beyond the most nodes")
    kernel = gk.RBFKernel().double().requires_grad_(False)
    u = family(size).advance(kernel, torch.tensor([[3.0], [3.0 + lengths * float(kernel.lengthscale)]]).double())
    s, Phi = u.measure.projection(2 * len(u.positions), u.end)
    nodes = (u.end - u.length * (1 - s))[:, None]
    twice = Phi.mT @ covariance(kernel, nodes, nodes) @ Phi
    assert float((u.kuu(kernel) - twice).abs().max() / twice.abs().max()) < 1e-10
