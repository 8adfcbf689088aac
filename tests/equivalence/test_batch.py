"""One task is batch learning: SGPR, SVGP and, with enough variables, the exact GP."""

import pytest
import torch
from gpytorch.likelihoods import BernoulliLikelihood
from gpytorch.means import ZeroMean

from gpvae import OnlineGP, bounds, predictive_gp
from gpvae.bounds import expected_log_likelihood, online_elbo
from gpvae.kernels import covariance, variance
from gpvae.sites import Site
from gpvae.streaming import Frame
from tests.equivalence import dense
from tests.equivalence.views import kuu, q_of_u, whitened
from tests.toys import FAMILIES, gaussian, matern, model, tasks, wave

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
S = torch.linspace(-0.5, 4.0, 37, dtype=torch.float64)[:, None]
NOISE = torch.tensor(0.1, dtype=torch.float64)


@pytest.mark.parametrize("family", ["LegS", "CosS", "FourierFeatures", "Points", "PivotedPoints", "LegT", "LegSPath"])
def test_one_task_is_batch_sgpr(family: str) -> None:
    """After one task q(u), the predictions and the bound are those of Titsias (2009)."""
    x, y = wave()
    gp = model(FAMILIES[family](9)).update(x, y)
    u, kernel = gp.inducing, gp.kernel
    with torch.no_grad():
        expected = dense.sgpr(kuu(u, kernel), u.kuf(kernel, x), variance(kernel, x), NOISE, y)
        mean, cov = dense.predict(expected, kuu(u, kernel), u.kuf(kernel, S), u.kff(kernel, S))
    found = q_of_u(gp.posterior, kernel)
    torch.testing.assert_close(found.mean, expected.mean, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(found.cov, expected.cov, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(gp.bound(), expected.bound, rtol=1e-8, atol=1e-7)
    f = gp.latent(S, joint=True)
    torch.testing.assert_close(f.mean, mean, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(f.covariance_matrix, cov, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(gp.latent(S).variance, cov.diagonal(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("family", ["LegS", "CosS", "Points"])
def test_free_form_bound_of_one_task_is_the_svgp_bound(family: str) -> None:
    """For any q(u) = N(m, S): Σ E log p(y|f) - KL(q(u) ‖ p(u)), as in Hensman et al. (2013)."""
    x, y = wave()
    kernel, u = matern(), FAMILIES[family](7)
    u.advance(kernel, x)
    rng = torch.Generator().manual_seed(1)
    m = torch.randn(7, generator=rng, dtype=torch.float64)
    root = 0.1 * torch.randn(7, 7, generator=rng, dtype=torch.float64)
    cov = root @ root.mT + 0.01 * torch.eye(7, dtype=torch.float64)
    K = kuu(u, kernel)
    with torch.no_grad():
        q_f = dense.predict(dense.Gaussian(m, cov, NOISE), K, u.kuf(kernel, x), covariance(kernel, x, x))
        data = dense.gaussian_expected_log_likelihood(y, q_f[0], q_f[1].diagonal(), NOISE)
        expected = data - dense.kl(m, cov, torch.zeros_like(m), K)
        frame = Frame.of(u, kernel)
        q = whitened(frame.L, m, cov)
        found_data = expected_log_likelihood(q, gaussian(), *frame.features(x), y, len(y))
        found = online_elbo(q, Site.zero(frame.L), found_data)
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-6)


def test_expected_log_likelihood_of_bernoulli_is_the_integral() -> None:
    """Σ E log Φ(±f) by quadrature equals a fine Riemann sum."""
    x, y = wave()
    labels = (y > 0).double()
    kernel, u = matern(), FAMILIES["LegS"](7)
    u.advance(kernel, x)
    with torch.no_grad():
        frame = Frame.of(u, kernel)
        q = whitened(frame.L, torch.linspace(-0.5, 0.5, 7, dtype=torch.float64), 0.02 * frame.L @ frame.L.mT)
        a, prior = frame.features(x)
        mean, var = q.marginals(a, prior)
        z = torch.linspace(-9, 9, 4001, dtype=torch.float64)
        weight = torch.exp(-0.5 * z**2) / torch.exp(-0.5 * z**2).sum()
        f = (2 * labels - 1)[:, None] * (mean[:, None] + var.sqrt()[:, None] * z)
        expected = (torch.special.log_ndtr(f) @ weight).sum()
        found = expected_log_likelihood(q, BernoulliLikelihood().double(), a, prior, labels, len(y))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("family", "num_inducing"), [("LegS", 150), ("CosS", 150), ("PivotedPoints", 60)])
@pytest.mark.parametrize("num_tasks", [1, 3])
def test_many_variables_give_the_exact_gp(family: str, num_inducing: int, num_tasks: int) -> None:
    """With M large, posterior and bound are those of GP regression on all data, in one task or in several."""
    x, y = wave()
    kernel = matern(nu=2.5)
    gp = OnlineGP(FAMILIES[family](num_inducing), kernel, gaussian(), mean=ZeroMean())
    for task in tasks(num_tasks, 60):
        gp.update(*task)
    with torch.no_grad():
        expected = dense.exact(covariance(kernel, x, x), covariance(kernel, x, S), covariance(kernel, S, S), NOISE, y)
    f = gp.latent(S, joint=True)
    torch.testing.assert_close(f.mean, expected.mean, rtol=0, atol=2e-3)
    torch.testing.assert_close(f.covariance_matrix, expected.cov, rtol=0, atol=2e-3)
    assert expected.bound - 0.05 < gp.bound() <= expected.bound + 1e-6


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_more_fourier_features_never_hurt(nu: float) -> None:
    """The waves of an odd M include those of every smaller M, so the bound grows with M, up to the log evidence."""
    x, y = wave()
    kernel = matern(nu=nu)
    bounds = [
        float(OnlineGP(FAMILIES["FourierFeatures"](m), kernel, gaussian(), mean=ZeroMean()).update(x, y).bound())
        for m in (11, 51, 101, 201, 401)
    ]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("family", ["LegS", "CosS", "LegT", "LagT", "FouT", "Points", "PivotedPoints"])
def test_the_order_of_points_in_a_batch_does_not_matter(family: str) -> None:
    """The posterior does not depend on the order of points (sampled inducing points can include all of them)."""
    x, y = wave(20)
    shuffled = torch.randperm(20, generator=torch.Generator().manual_seed(3))
    straight, mixed = (model(FAMILIES[family](20)) for _ in range(2))
    straight.update(x, y)
    mixed.update(x[shuffled], y[shuffled])
    torch.testing.assert_close(mixed.latent(S).mean, straight.latent(S).mean, rtol=0, atol=1e-5)
    torch.testing.assert_close(mixed.latent(S).variance, straight.latent(S).variance, rtol=0, atol=1e-5)
    torch.testing.assert_close(mixed.bound(), straight.bound(), rtol=0, atol=1e-5)


def test_the_size_of_chunks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are processed in chunks only to save memory."""
    x, y = wave(30)
    whole = model(FAMILIES["LegS"](20)).update(x, y)
    for module in (bounds, predictive_gp):
        monkeypatch.setattr(module, "CHUNK_SIZE", 7)
    parts = model(FAMILIES["LegS"](20)).update(x, y)
    torch.testing.assert_close(parts.bound(), whole.bound(), rtol=1e-10, atol=0)
    torch.testing.assert_close(parts.latent(S).mean, whole.latent(S).mean, rtol=0, atol=1e-9)
    torch.testing.assert_close(parts.latent(S).variance, whole.latent(S).variance, rtol=0, atol=1e-9)
