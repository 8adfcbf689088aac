"""Agreement with the oracle for realistic numbers of variables."""

import numpy as np
import pytest
import torch

from gpvae.inducing import CosS, FouT, LegS, LegT
from gpvae.inducing.time import TimeMemory
from tests import oracle
from tests.toys import rbf


@pytest.mark.parametrize("family", [LegS, CosS, LegT, FouT], ids=lambda family: family.__name__)
def test_150_variables_are_those_of_the_definition(family: type[TimeMemory]) -> None:
    """To 1e-8 of the largest entry, over 100 lengthscales."""
    kernel, size = rbf(0.1, 1.0), 150
    memory = family(size)
    with torch.no_grad():
        memory.advance(kernel, torch.linspace(0, 10, 11, dtype=torch.float64)[:, None])
        x = torch.linspace(-1, 11, 40, dtype=torch.float64)[:, None]
        kuu, kuf = memory.kuu(kernel).numpy(), memory.kuf(kernel, x).numpy()
    lengthscale = kernel.base_kernel.lengthscale.item()
    nodes, weights = oracle.quadrature(list(np.linspace(0, 10, 101)), 16)
    phi = oracle.basis(family.__name__, size, nodes, 0.0, 10.0, 10.0) * (weights / 10)[:, None]
    k = lambda a, b: np.exp(-0.5 * ((a[:, None] - b[None]) / lengthscale) ** 2)  # noqa: E731
    for got, expected in ((kuu, phi.T @ k(nodes, nodes) @ phi), (kuf, phi.T @ k(nodes, x[:, 0].numpy()))):
        assert np.abs(got - expected).max() < 1e-8 * np.abs(expected).max()
