"""Free-form q(u): its bound is the paper's equation 3, and at its optimum the conjugate posterior."""

import math

import pytest
import torch
from torch import Tensor

from gpvae import inference
from gpvae.bounds import collapsed_site, expected_log_likelihood, online_elbo
from gpvae.inducing import InducingVariables
from gpvae.inference import Training
from gpvae.kernels import covariance
from gpvae.posteriors import FreeForm, Posterior
from gpvae.streaming import Frame, StreamingPosterior
from tests.equivalence import dense
from tests.equivalence.views import kuu, q_of_u, whitened
from tests.toys import FAMILIES, gaussian, matern, tasks

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
NOISE = torch.tensor(0.1, dtype=torch.float64)
M = 6


def second_task(family: str) -> tuple[StreamingPosterior, Tensor, Tensor]:
    """A posterior within its second task, and the data of it."""
    (x1, y1), (x2, y2) = tasks(2, 60)
    kernel = matern()
    posterior = StreamingPosterior(FAMILIES[family](M))
    posterior.begin(kernel, x1)
    with torch.no_grad():
        posterior.end(*collapsed_site(posterior, kernel, NOISE, x1, y1))
    posterior.begin(kernel, x2)
    return posterior, x2, y2


def elbo_of(u: InducingVariables, q: Posterior, posterior: StreamingPosterior, x: Tensor, y: Tensor) -> Tensor:
    """The package's bound at q(v)."""
    frame, past = posterior.task(matern().requires_grad_(False))
    return online_elbo(q, past, expected_log_likelihood(q, gaussian(), *frame.features(x), y, len(y)))


@pytest.mark.parametrize("family", ["LegS", "CosS", "Points", "LegSPath"])
def test_online_elbo_is_equation_3_up_to_a_constant(family: str) -> None:
    """Difference of the two is the same for any q(u), and is the bound of the past; their gradients agree."""
    posterior, x, y = second_task(family)
    kernel, new, past = matern(), posterior.inducing, posterior.past
    with torch.no_grad():
        kaa, kbb, kab = kuu(past, kernel), kuu(new, kernel), new.kuv(kernel, past).mT
        old, kbf, kff = q_of_u(posterior, kernel), new.kuf(kernel, x), covariance(kernel, x, x)
        L = Frame.of(new, kernel).L
    differences = []
    for seed in range(3):
        rng = torch.Generator().manual_seed(seed)
        v = torch.randn(M, generator=rng, dtype=torch.float64).requires_grad_()
        root = (torch.randn(M, M, generator=rng, dtype=torch.float64).triu(1) + torch.eye(M)).requires_grad_()
        m, half = L @ v, L @ root.triu()
        cov = half @ half.mT
        f_mean, f_cov = dense.predict(dense.Gaussian(m, cov, NOISE), kbb, kbf, kff)
        data = dense.gaussian_expected_log_likelihood(y, f_mean, f_cov.diagonal(), NOISE)
        expected = dense.online_elbo((m, cov), (old.mean, old.cov), kaa, kaa, kbb, kab, data)
        found = elbo_of(new, Posterior(v, root.triu()), posterior, x, y)
        differences.append((found - expected).item())
        for a, b in zip(torch.autograd.grad(found, (v, root)), torch.autograd.grad(expected, (v, root)), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-4)
    assert max(differences) - min(differences) < 1e-4
    assert math.isclose(differences[0], float(old.bound), rel_tol=1e-5)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_conjugate_posterior_is_the_optimum_of_the_free_form_bound(family: str) -> None:
    """There its gradient vanishes and its value is the collapsed bound."""
    posterior, x, y = second_task(family)
    with torch.no_grad():
        _, site = collapsed_site(posterior, matern(), NOISE, x, y)
    q = FreeForm(Posterior.from_site(site))
    value = elbo_of(posterior.inducing, q(), posterior, x, y)
    torch.testing.assert_close(value, site.log_evidence(), rtol=0, atol=1e-6)
    value.backward()
    assert q.mean.grad is not None
    assert q.root.grad is not None
    assert q.mean.grad.abs().max() < 1e-5
    assert q.root.grad.abs().max() < 1e-5


def test_training_the_free_form_posterior_reaches_the_conjugate_one() -> None:
    """Adam on the online bound with a Gaussian likelihood, in the second task of a stream."""
    posterior, x, y = second_task("LegS")
    kernel, likelihood = matern(), gaussian()
    with torch.no_grad():
        _, site = collapsed_site(posterior, kernel, NOISE, x, y)
    expected = Posterior.from_site(site)
    with inference.only_training([], kernel, likelihood, posterior):
        inference._train_free_form(posterior, kernel, likelihood, x, y, Training(steps=400, lr=0.05), [])
    _, found = posterior.q(kernel)
    torch.testing.assert_close(found.mean, expected.mean, rtol=0, atol=2e-3)
    torch.testing.assert_close(found.root @ found.root.mT, expected.root @ expected.root.mT, rtol=0, atol=2e-3)
    torch.testing.assert_close(posterior.site.log_evidence(), site.log_evidence(), rtol=0, atol=1e-3)


def test_minibatches_estimate_the_bound_without_bias() -> None:
    """The mean of Σ E log p(y|f) over all minibatches of equal size is its value on all points."""
    posterior, x, y = second_task("LegS")
    with torch.no_grad():
        frame, past = posterior.task(matern())
        q, (a, prior) = Posterior.from_site(past), frame.features(x)
        whole = expected_log_likelihood(q, gaussian(), a, prior, y, len(y))
        parts = [
            expected_log_likelihood(q, gaussian(), a[:, i : i + 10], prior[i : i + 10], y[i : i + 10], len(y))
            for i in range(0, 30, 10)
        ]
    torch.testing.assert_close(torch.stack(parts).mean(), whole)


def test_whitening_is_undone() -> None:
    """The helper of these tests: L root rootᵀ Lᵀ is the covariance it was made from."""
    L = torch.randn(4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).tril() + 3 * torch.eye(4)
    cov = L @ L.mT * 0.3
    root = L @ whitened(L, torch.zeros(4, dtype=torch.float64), cov).root
    torch.testing.assert_close(root @ root.mT, cov)
