"""The contenders of benchmarks work as documented, so that comparisons are fair."""

import pytest
import torch
from torch import Tensor

from benchmarks.contenders import EXACT, GROWING, OURS, REFIT, WARM, Contender, contenders, given_kernel, wave
from benchmarks.gpytorch_ovc import GrowingOVC
from benchmarks.gpytorch_vae import PlainGPVAE
from benchmarks.powers import exponent
from benchmarks.process_memory import Peak, live_tensors
from benchmarks.streams import expected_warnings

TASKS = list(wave(2, 30, 6.0))
X = torch.cat([x for x, _ in TASKS])


def learnt(name: str) -> Contender:
    torch.manual_seed(0)
    model = contenders(steps=80)[name](15, given_kernel())
    with expected_warnings():
        for task in TASKS:
            model.update(*task)
    return model


def error(name: str, exact: Tensor) -> float:
    """Largest error of the predictive mean on the first task, relative to the exact GP on all data."""
    with expected_warnings():
        return float((learnt(name).predict(X[:30]).mean - exact).abs().max())


@pytest.mark.slow
def test_refits_on_all_data_agree_with_the_exact_gp_and_on_single_tasks_forget() -> None:
    with expected_warnings():
        exact = learnt(EXACT).predict(X[:30]).mean
    assert error(OURS[1], exact) < 0.05
    assert error(GROWING, exact) < 0.05
    assert error(REFIT, exact) < 0.2
    assert error(WARM, exact) > 0.2


def test_gpytorchs_ovc_conditions_its_sparse_posterior_exactly() -> None:
    """As it is, gpytorch ignores the covariance of its pseudo-points (docs/gpytorch_report.md)."""
    (x, y), (x_new, y_new) = TASKS
    model = GrowingOVC(8, *given_kernel())
    with expected_warnings(), torch.no_grad():
        model.update(x, y)
        assert model.model is not None
        joint, new = model.model(torch.cat([x_new, X[::7]])), len(x_new)
        mean, covariance, noise = joint.mean, joint.covariance_matrix, model.likelihood.noise
        observed = covariance[:new, :new] + noise * torch.eye(new, dtype=x.dtype)
        gain = torch.linalg.solve(observed, covariance[:new, new:]).mT
        for part in (slice(0, 10), slice(10, None)):  # a fantasy, and a fantasy of it
            model.update(x_new[part], y_new[part])
        predicted = model.predict(X[::7])
    torch.testing.assert_close(predicted.mean, mean[new:] + gain @ (y_new - mean[:new]), rtol=0, atol=1e-3)
    variance = (covariance[new:, new:] - gain @ covariance[:new, new:]).diag() + noise
    torch.testing.assert_close(predicted.variance, variance, rtol=0, atol=1e-3)


def test_the_plain_gpvae_learns() -> None:
    torch.manual_seed(0)
    times, y = torch.arange(12, dtype=torch.float64), torch.randn(2, 12, 3)
    mask = torch.ones_like(y, dtype=torch.bool)
    for encoder in (False, True):
        model = PlainGPVAE(times, 2, 3, num_inducing=6, latent_dim=2, hidden_dim=8, encoder=encoder)
        optimiser, bounds = model.optimiser(), []
        for _ in range(30):
            optimiser.zero_grad()
            (-model.bound(times, y, mask)).backward()
            optimiser.step()
            bounds.append(float(model.bound(times, y, mask).detach()))
        assert sum(bounds[-5:]) > sum(bounds[:5])
        assert all(p.grad is not None for p in model.parameters())


def test_powers() -> None:
    assert abs(exponent([1, 10, 100], [2, 2e3, 2e6]) - 3) < 1e-12


def test_peak_includes_memory_that_torch_has_freed() -> None:
    with Peak() as peak:
        torch.ones(10_000_000).sum()
    assert 35e6 < peak.bytes < 100e6
    count, numbers = live_tensors()
    more = torch.zeros(1000)
    assert live_tensors() == (count + 1, numbers + len(more))
