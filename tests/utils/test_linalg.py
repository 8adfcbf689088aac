"""Cholesky factors of finite matrices."""

import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gpvae.utils.linalg import JitterWarning, cholesky, log_det, solve_lower, symmetric


@st.composite
def covariances(draw: st.DrawFn) -> Tensor:
    """A Aᵀ of any rank, from zero to full, over twelve orders of magnitude, off by rounding errors."""
    size, rank = draw(st.integers(1, 8)), draw(st.integers(0, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = rng.normal(size=(size, rank)) * 10.0 ** draw(st.integers(-6, 6))
    K = A @ A.T
    noise = rng.normal(size=K.shape) * 1e-12 * np.abs(K).max(initial=0.0)
    return torch.from_numpy(K + (noise + noise.T) / 2)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise if the block takes longer, so that an endless loop fails rather than hangs."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"still at it after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def quiet(K: Tensor) -> Tensor:
    with at_most(60), warnings.catch_warnings():
        warnings.simplefilter("ignore", JitterWarning)
        return cholesky(K)


@given(covariances())
def test_every_covariance_has_a_factor_close_by(K: Tensor) -> None:
    """L Lᵀ = K up to a jitter of 1e-6 of the diagonal, for any rank and slightly indefinite K."""
    L = quiet(K)
    assert torch.isfinite(L).all()
    assert bool((L.diagonal() > 0).all())
    assert float((L @ L.mT - K).abs().max()) <= 1e-6 * float(K.abs().max()) + 1e-300


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.integers(-100, 100))
def test_any_finite_symmetric_matrix_has_a_factor(size: int, seed: int, exponent: int) -> None:
    """The jitter grows until there is one, however indefinite the matrix is."""
    A = torch.from_numpy(np.random.default_rng(seed).normal(size=(size, size))) * 10.0**exponent
    assert torch.isfinite(quiet(A + A.mT)).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("K", [torch.zeros(3, 3), torch.ones(3, 3), torch.eye(3) - 1e-12], ids=["zero", "ones", "eye"])
def test_degenerate_matrices_have_finite_factors(K: Tensor, dtype: torch.dtype) -> None:
    assert torch.isfinite(quiet(K.to(dtype))).all()


@pytest.mark.parametrize("scale", [1.0, 1e10])
def test_a_zero_diagonal_has_a_factor(scale: float) -> None:
    K = scale * torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double()
    assert torch.isfinite(quiet(K)).all()


def test_only_the_matrices_that_need_it_get_more_jitter() -> None:
    good = torch.eye(3).double()
    bad = good.clone()
    bad[2, 2] = -1e-7
    together = quiet(torch.stack([good, bad]))
    assert torch.equal(together[0], cholesky(good))
    assert torch.equal(together[1], quiet(bad))


def test_escalation_is_logged_and_a_large_one_warns(caplog: pytest.LogCaptureFixture) -> None:
    mild, strong = torch.eye(2).double(), torch.eye(2).double()
    mild[1, 1], strong[1, 1] = -1e-8, -1e-3
    with caplog.at_level(logging.INFO, logger="gpvae"):
        cholesky(mild)
    assert "relative jitter" in caplog.text
    with pytest.warns(JitterWarning, match=r"shape \(2, 2\) needed a relative jitter"):
        cholesky(strong)


def test_without_escalation_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="gpvae"):
        cholesky(torch.eye(4).double())
    assert caplog.text == ""


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("where", [(0, 0), (2, 2), (2, 0)])
def test_what_is_not_finite_is_refused(value: float, where: tuple[int, int]) -> None:
    K = torch.eye(3).double()
    K[where] = K[where[::-1]] = value
    with pytest.raises(ValueError, match="NaN or infinite"):
        cholesky(K)


def test_an_empty_matrix_is_its_own_factor() -> None:
    assert cholesky(torch.zeros(2, 0, 0).double()).shape == (2, 0, 0)


def test_a_given_jitter_of_zero_adds_nothing() -> None:
    K = torch.diag(torch.tensor([4.0, 9.0])).double()
    assert torch.equal(cholesky(K, jitter=0.0), torch.diag(torch.tensor([2.0, 3.0])).double())


def test_cholesky_differentiates() -> None:
    A = torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda A: cholesky(A @ A.mT), A)


@given(covariances())
def test_determinants_and_solutions_follow_from_the_factor(K: Tensor) -> None:
    K = K / K.abs().max().clamp_min(1e-300) + torch.eye(len(K)).double()
    L = cholesky(K, jitter=0.0)
    torch.testing.assert_close(log_det(L), torch.logdet(K))
    torch.testing.assert_close(L @ solve_lower(L, K), K)
    torch.testing.assert_close(symmetric(L), symmetric(L).mT)
