"""Filter and smoother of a Matérn process are the exact Gaussian process."""

import numpy as np
import pytest
import torch
from gpytorch.kernels import MaternKernel, ScaleKernel
from scipy.linalg import expm
from torch import Tensor

from benchmarks.state_space_gp import Matern, MaternFilter, MaternSmoother, fit, log_evidence
from gpvae.hyperparameters.marginal_likelihood import exact_log_evidence
from gpvae.kernels import covariance

NUS = [0.5, 1.5, 2.5]
NOISE = 0.05


def kernel(nu: float) -> ScaleKernel:
    made = ScaleKernel(MaternKernel(nu=nu)).double().requires_grad_(False)
    made.base_kernel.lengthscale, made.outputscale = 0.7, 1.6
    return made


def data() -> tuple[Tensor, Tensor]:
    """Points out of order, two of them at one time."""
    rng = torch.Generator().manual_seed(0)
    x = 5 * torch.rand(40, 1, generator=rng, dtype=torch.float64)
    x[7] = x[3]
    return x, torch.sin(3 * x[:, 0]) + 0.2 * torch.randn(40, generator=rng, dtype=torch.float64)


def exact(nu: float, x: Tensor, y: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of y by the dense GP."""
    k = kernel(nu)
    K = covariance(k, x, x) + NOISE * torch.eye(len(x), dtype=torch.float64)
    cross = covariance(k, x, at)
    var = covariance(k, at, at).diagonal() - (cross * torch.linalg.solve(K, cross)).sum(0)
    return cross.mT @ torch.linalg.solve(K, y), var + NOISE


def matern(nu: float) -> Matern:
    k = kernel(nu)
    return Matern(nu, k.base_kernel.lengthscale.item(), k.outputscale.item(), NOISE)


@pytest.mark.parametrize("nu", NUS)
def test_transitions_are_matrix_exponentials_and_keep_the_stationary_law(nu: float) -> None:
    m = matern(nu)
    A, Q = m.transitions(np.array([0.0, 0.3, 2.0]))
    F = (m.transitions(np.array([1e-6]))[0][0] - np.eye(m.order)) / 1e-6
    np.testing.assert_allclose(A[1], expm(0.3 * F), atol=1e-3)
    np.testing.assert_allclose(A[2], A[1] @ m.transitions(np.array([1.7]))[0][0], atol=1e-12)
    np.testing.assert_allclose(A[0], np.eye(m.order))
    assert (np.linalg.eigvalsh(Q) > -1e-12).all()


@pytest.mark.parametrize("nu", NUS)
def test_the_smoother_is_the_dense_gp(nu: float) -> None:
    x, y = data()
    at = torch.linspace(-1, 6, 50, dtype=torch.float64)[:, None]
    model = MaternSmoother(matern(nu))
    for part in (slice(25), slice(25, 40)):
        model.update(x[part], y[part])
    mean, var = exact(nu, x, y, at)
    found = model.predict(at)
    torch.testing.assert_close(found.mean, mean, rtol=0, atol=1e-9)
    torch.testing.assert_close(found.variance, var, rtol=0, atol=1e-9)
    assert model.num_numbers == 80


@pytest.mark.parametrize("nu", NUS)
def test_the_filter_is_the_dense_gp_for_what_comes(nu: float) -> None:
    x, y = data()
    order = x[:, 0].argsort()
    model, at = MaternFilter(matern(nu)), torch.linspace(5, 8, 20, dtype=torch.float64)[:, None]
    for part in order.split(11):
        model.update(x[part], y[part])
    mean, var = exact(nu, x, y, at)
    torch.testing.assert_close(model.predict(at).mean, mean, rtol=0, atol=1e-9)
    torch.testing.assert_close(model.predict(at).variance, var, rtol=0, atol=1e-9)
    assert model.num_numbers <= 13
    with pytest.raises(ValueError, match="knows nothing before"):
        model.predict(at - 4)
    with pytest.raises(ValueError, match="takes points in order"):
        model.update(x[order[:1]], y[order[:1]])


@pytest.mark.parametrize("nu", NUS)
def test_the_evidence_is_that_of_the_dense_gp(nu: float) -> None:
    x, y = data()
    expected = float(exact_log_evidence(kernel(nu), torch.tensor([NOISE], dtype=torch.float64), x, y))
    assert log_evidence(matern(nu), x, y) == pytest.approx(expected, abs=1e-8)


def test_hyperparameters_have_a_higher_evidence_than_those_near_them() -> None:
    x, y = data()
    best = fit(1.5, x, y)
    value = log_evidence(best, x, y)
    assert value > log_evidence(matern(1.5), x, y)
    for name in ("lengthscale", "variance", "noise"):
        for factor in (0.8, 1.25):
            other = Matern(**{**vars(best), name: factor * getattr(best, name)})
            assert log_evidence(other, x, y) < value
