"""The oracle satisfies the identities that define what it computes."""

import math

import numpy as np
import pytest

from tests import oracle

MATERN = [oracle.Term(nu, 1.7, (0.6,)) for nu in (0.5, 1.5, 2.5)]


@pytest.mark.parametrize("term", MATERN, ids=lambda term: f"nu{term.nu}")
def test_projecting_a_section_of_the_kernel_evaluates_the_wave(term: oracle.Term) -> None:
    """<φ_m, k(·, x)> = φ_m(x) for x in [a, b]: the reproducing property."""
    waves = oracle.Waves(7, -1.0, 2.5, term)
    x = np.linspace(-1, 2.5, 12)[:, None]
    np.testing.assert_allclose(waves.kuf(term, x), waves.waves(x[:, 0])[0].T, atol=1e-10)


@pytest.mark.parametrize("term", MATERN, ids=lambda term: f"nu{term.nu}")
def test_inner_products_of_waves_are_limits_of_kriging(term: oracle.Term) -> None:
    """φ(X)ᵀ k(X, X)^-1 φ(X) grows to <φ, φ> as the grid X gets finer."""
    waves = oracle.Waves(5, 0.0, 2.0, term)
    X = np.linspace(0, 2, 401)[:, None]
    phi = waves.waves(X[:, 0])[0]
    limit = phi.T @ np.linalg.solve(term(X, X), phi)
    np.testing.assert_allclose(limit, waves.kuu(term), rtol=0, atol=1e-2 * np.abs(limit).max())


@pytest.mark.parametrize("name", ["LegS", "CosS", "LegT", "LagT", "FouT"])
def test_bases_are_orthonormal(name: str) -> None:
    projection = oracle.Projection(name, 5, 0.3, 2.1, 0.7)
    gram = projection.apply(lambda x: oracle.basis(name, 5, x[:, 0], 0.3, 2.1, 0.7))
    np.testing.assert_allclose(gram, np.eye(5), atol=1e-8)


def test_matern_tends_to_rbf_and_sums_add() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 9, 3))
    rbf, rough = oracle.Term(math.inf, 2.0, (0.5, 1.0, 4.0)), oracle.Term(0.5, 1.0, (3.0,))
    np.testing.assert_allclose(oracle.covariance([rbf, rough])(x, y), rbf(x, y) + rough(x, y))
    near = np.array([[0.01, 0, 0]])
    np.testing.assert_allclose(rbf(near, 0 * near), 2 * math.exp(-0.5 * 0.02**2))


def test_path_of_a_constant_is_a_constant() -> None:
    """∫ 1 φ_m = δ_m0, however many steps the path has."""
    np.testing.assert_allclose(oracle.path(np.zeros((9, 2)), 6).W.sum(0), np.eye(6)[0], atol=1e-14)
