"""Appendix C: q(u) is the distribution of the projections of f ~ q(f), so f ≈ Σ u_m g_m."""

import math

import numpy as np
import pytest
import torch
from gpytorch.means import ZeroMean
from torch import Tensor

from gpvae import OnlineGP
from tests.equivalence.views import q_of_u
from tests.toys import FAMILIES, gaussian, model, rbf, tasks, wave

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")


def basis(family: str, s: Tensor, num: int) -> Tensor:
    """g_m at s in [0, 1], by NumPy: sqrt(2m+1) P_m(2s - 1), or cosines."""
    if family == "LegS":
        columns = [math.sqrt(2 * m + 1) * np.polynomial.Legendre.basis(m)(2 * s.numpy() - 1) for m in range(num)]
    else:
        columns = [np.cos(np.pi * m * s.numpy()) * (math.sqrt(2) if m else 1.0) for m in range(num)]
    return torch.from_numpy(np.stack(columns, -1))


@pytest.mark.parametrize("family", ["LegS", "CosS"])
def test_q_of_u_is_the_distribution_of_the_projections_of_q_of_f(family: str) -> None:
    """Mean and covariance of ∫ f g_m ω, by quadrature over the posterior of f, after three tasks."""
    gp = OnlineGP(FAMILIES[family](7), rbf(), gaussian(), mean=ZeroMean())
    for x, y in tasks(3):
        gp.update(x, y)
    end = float(wave()[0].max())
    nodes, weights = (torch.from_numpy(v) for v in np.polynomial.legendre.leggauss(80))
    s = (nodes + 1) / 2
    Phi = basis(family, s, 7) * (weights / 2)[:, None]
    frame, posterior = gp.posterior.q(gp.kernel)
    points = end * s[:, None]
    with torch.no_grad():
        a, _ = frame.features(points)
        cov = posterior.covariance(a, gp.inducing.kff(gp.kernel, points))
    found = q_of_u(gp.posterior, gp.kernel)
    torch.testing.assert_close(Phi.mT @ gp.latent(points).mean, found.mean, rtol=0, atol=1e-7)
    torch.testing.assert_close(Phi.mT @ cov @ Phi, found.cov, rtol=0, atol=1e-7)


@pytest.mark.parametrize("family", ["LegS", "CosS"])
def test_reconstruction_is_the_finite_sum(family: str) -> None:
    """reconstruct(x) ~ Σ u_m g_m(x): mean and variance follow from q(u), and are zero outside the past."""
    gp = model(FAMILIES[family](7)).update(*wave())
    end = float(wave()[0].max())
    s = torch.linspace(0, 1, 23, dtype=torch.float64)
    g, q = basis(family, s, 7), q_of_u(gp.posterior, gp.kernel)
    found = gp.reconstruct(end * s)
    torch.testing.assert_close(found.mean, g @ q.mean, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(found.variance, (g @ q.cov @ g.mT).diagonal(), rtol=1e-8, atol=1e-8)
    assert gp.reconstruct([end + 1.0, -1.0]).mean.abs().max() == 0


@pytest.mark.parametrize("family", ["LegS", "CosS"])
def test_reconstruction_approaches_the_posterior_as_the_basis_grows(family: str) -> None:
    """Away from the ends the error of the finite sum falls with M."""
    x, y = wave()
    s = torch.linspace(0.3, 2.6, 50, dtype=torch.float64)
    errors = []
    for m in (5, 10, 20, 40):
        gp = OnlineGP(FAMILIES[family](m), rbf(), gaussian(), mean=ZeroMean()).update(x, y)
        errors.append(float((gp.reconstruct(s).mean - gp.latent(s).mean).abs().max()))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < (1e-4 if family == "LegS" else 1e-2)
