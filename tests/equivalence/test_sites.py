"""Algebra of sites: sums, transport, conversion to posteriors and back, and log evidence."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gpvae.posteriors import Posterior
from gpvae.sites import Site, Transport, gaussian_site
from tests.equivalence import dense

EYE = torch.eye(4, dtype=torch.float64)


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some_site(seed: int = 0, size: int = 4) -> Site:
    root = randn(size, size + 2, seed=seed)
    return Site(randn(1, seed=seed + 1)[0], randn(size, seed=seed + 2), root @ root.mT)


def link(seed: int, new: int = 4, old: int = 4) -> tuple[Tensor, Tensor]:
    """C and R = I - CᵀC of whitened variables, new and old, with a common normal distribution."""
    C = randn(new, old, seed=seed)
    C = 0.9 * C / torch.linalg.matrix_norm(C, 2)
    return C, torch.eye(old, dtype=torch.float64) - C.mT @ C


def assert_sites_close(one: Site, other: Site) -> None:
    for name in ("c", "h", "G"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_sites_add_over_minibatches(power: float) -> None:
    """The site of all points is the sum of those of its parts."""
    a, y, noise, residual = randn(4, 30), randn(30, seed=1), 0.1 + randn(30, seed=2) ** 2, randn(30, seed=3) ** 2
    whole = gaussian_site(a, y, noise, residual, power)
    parts = [
        gaussian_site(a[:, i], y[i], noise[i], residual[i], power) for i in (slice(0, 7), slice(7, 8), slice(8, 30))
    ]
    assert_sites_close(sum(parts, Site.zero(EYE)), whole)


def test_the_zero_site_changes_nothing() -> None:
    """Its evidence is one, and its posterior is the prior."""
    zero = Site.zero(EYE)
    assert zero.log_evidence() == 0
    torch.testing.assert_close(Posterior.from_site(zero).root, EYE)
    assert_sites_close(some_site() + zero, some_site())


@pytest.mark.parametrize("num", [1, 3, 12])
def test_log_evidence_is_that_of_bayesian_linear_regression(num: int) -> None:
    """log ∫ N(v; 0, I) Π N(y; aᵀv, s) dv = log N(y; 0, aᵀa + s I)."""
    a, y, noise = randn(4, num), randn(num, seed=1), torch.tensor(0.3, dtype=torch.float64)
    site = gaussian_site(a, y, noise, torch.zeros(num, dtype=torch.float64))
    expected = dense.log_normal(y, a.mT @ a + noise * torch.eye(num, dtype=torch.float64))
    torch.testing.assert_close(site.log_evidence(), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("power", [0.0])
@given(seed=st.integers(0, 1000))
def test_transport_composes(power: float, seed: int) -> None:
    """Transport to v₂ and then to v₃ equals direct transport, with C = C₂ C₁ and R = C₁ᵀ R₂ C₁ + R₁."""
    (C1, R1), (C2, R2) = link(seed, 5, 4), link(seed + 1, 3, 5)
    site = some_site(seed)
    step_by_step = Transport(C2, R2, power)(Transport(C1, R1, power)(site))
    assert_sites_close(step_by_step, Transport(C2 @ C1, R1 + C1.mT @ R2 @ C1, power)(site))


def test_transport_adds() -> None:
    """The variational transport of a sum is the sum of transports."""
    one, other, (C, R) = some_site(0), some_site(7), link(3)
    assert_sites_close(Transport(C, R)(one + other), Transport(C, R)(one) + Transport(C, R)(other))


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_transport_of_no_past_is_the_site_of_no_data(power: float) -> None:
    """A site without variables becomes the site of no data, and the default transport changes nothing."""
    L, site = randn(2, 3, 3), some_site()
    nothing = Site.zero(torch.zeros(0, 0, dtype=torch.float64))
    for found, expected in ((Transport.from_nothing(L)(nothing), Site.zero(L)), (Transport(power=power)(site), site)):
        assert all(torch.equal(getattr(found, name), getattr(expected, name)) for name in ("c", "h", "G"))


def test_transport_is_the_expected_log_of_the_site() -> None:
    """E[log site(v) | w], v | w ~ N(Cᵀw, R), at any w, against the moments of v."""
    site, (C, R), w = some_site(), link(1, 3, 4), randn(3, seed=9)
    moved = Transport(C, R)(site)
    mean = C.mT @ w
    expected = site.c + site.h @ mean - 0.5 * (site.G @ (torch.outer(mean, mean) + R)).trace()
    torch.testing.assert_close(moved.c + moved.h @ w - 0.5 * w @ moved.G @ w, expected)


@pytest.mark.parametrize("power", [0.3, 1.0])
def test_power_transport_is_the_power_mean_of_the_site(power: float) -> None:
    """(1/α) log E[site(v)^α | w] at any w, by an explicit Gaussian integral."""
    site, (C, R), w = some_site(), link(1, 3, 4), randn(3, seed=9)
    moved = Transport(C, R, power)(site)
    mean = C.mT @ w
    P = torch.linalg.inv(R) + power * site.G
    b = torch.linalg.solve(R, mean) + power * site.h
    log_mean = (
        power * site.c
        + 0.5 * b @ torch.linalg.solve(P, b)
        - 0.5 * mean @ torch.linalg.solve(R, mean)
        - 0.5 * torch.logdet(P)
        - 0.5 * torch.logdet(R)
    )
    torch.testing.assert_close(moved.c + moved.h @ w - 0.5 * w @ moved.G @ w, log_mean / power)


def test_power_to_zero_is_variational() -> None:
    """Both the site of data and the transport of old sites are continuous at α = 0."""
    a, y, noise, residual = randn(4, 30), randn(30, seed=1), 0.1 + randn(30, seed=2) ** 2, randn(30, seed=3) ** 2
    C, R = link(5)
    for small in (1e-4, 1e-6):
        near, limit = (gaussian_site(a, y, noise, residual, power) for power in (small, 0.0))
        moved, moved_limit = (Transport(C, R, power)(limit) for power in (small, 0.0))
        for one, other in ((near, limit), (moved, moved_limit)):
            torch.testing.assert_close(one.G, other.G, rtol=1e4 * small, atol=1e5 * small)
            torch.testing.assert_close(one.h, other.h, rtol=1e4 * small, atol=1e5 * small)
            torch.testing.assert_close(one.c, other.c, rtol=1e4 * small, atol=1e5 * small)


def test_posterior_and_site_are_two_sides_of_one_coin() -> None:
    """from_site and to_site are inverse to each other, including the log evidence."""
    site = some_site()
    q = Posterior.from_site(site)
    assert_sites_close(q.to_site(site.log_evidence()), site)
    torch.testing.assert_close(q.root @ q.root.mT, torch.linalg.inv(EYE + site.G))
    assert not q.root.tril(-1).any()


def test_evidence_is_the_bound_at_the_posterior() -> None:
    """log evidence = E_q[log site] - KL(q ‖ p) at the conjugate q, and less at any other."""
    site = some_site()
    q = Posterior.from_site(site)
    torch.testing.assert_close(q.expected_log(site) - q.kl(), site.log_evidence())
    other = Posterior(q.mean + 0.1, 1.2 * q.root)
    assert other.expected_log(site) - other.kl() < site.log_evidence()


def test_kl_is_the_textbook_one() -> None:
    """KL(q ‖ N(0, I))."""
    q = Posterior.from_site(some_site())
    expected = dense.kl(q.mean, q.root @ q.root.mT, torch.zeros_like(q.mean), EYE)
    torch.testing.assert_close(q.kl(), expected)


def test_scale_of_a_gaussian_site_is_the_likelihood() -> None:
    """With no residual the site IS the likelihood: c + hᵀv - ½ vᵀGv = log N(y; aᵀv, s)."""
    a, y, v, noise = randn(4, 9), randn(9, seed=1), randn(4, seed=2), torch.tensor(0.4, dtype=torch.float64)
    site = gaussian_site(a, y, noise, torch.zeros(9, dtype=torch.float64))
    expected = -0.5 * (((y - a.mT @ v) ** 2 / noise).sum() + 9 * math.log(2 * math.pi * 0.4))
    torch.testing.assert_close(site.c + site.h @ v - 0.5 * v @ site.G @ v, expected)
