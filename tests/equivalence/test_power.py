"""Power expectation propagation joins the variational bound (α → 0) and FITC (α = 1)."""

import pytest
import torch
from gpytorch.means import ZeroMean

from gpvae import OnlineGP
from gpvae.kernels import variance
from tests.equivalence import dense
from tests.equivalence.views import kuu, q_of_u
from tests.toys import FAMILIES, gaussian, matern, model, tasks, wave

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
S = torch.linspace(0.0, 3.5, 21, dtype=torch.float64)[:, None]
NOISE = torch.tensor(0.1, dtype=torch.float64)


@pytest.mark.parametrize("family", ["LegS", "CosS", "Points", "FourierFeatures"])
def test_power_one_is_fitc(family: str) -> None:
    """One task with α = 1: posterior and log evidence of FITC."""
    x, y = wave()
    gp = model(FAMILIES[family](7), power=1.0).update(x, y)
    u, kernel = gp.inducing, gp.kernel
    with torch.no_grad():
        expected = dense.fitc(kuu(u, kernel), u.kuf(kernel, x), variance(kernel, x), NOISE, y)
    found = q_of_u(gp.posterior, kernel)
    torch.testing.assert_close(found.mean, expected.mean, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(found.cov, expected.cov, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(found.bound, expected.bound, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("family", ["LegS", "Points", "LegSPath"])
def test_small_power_is_the_variational_bound(family: str) -> None:
    """α → 0 over several tasks."""
    tiny, variational = model(FAMILIES[family](7), power=1e-7), model(FAMILIES[family](7))
    for x, y in tasks(3):
        tiny.update(x, y)
        variational.update(x, y)
    torch.testing.assert_close(tiny.latent(S).mean, variational.latent(S).mean, rtol=0, atol=1e-4)
    torch.testing.assert_close(tiny.latent(S).variance, variational.latent(S).variance, rtol=0, atol=1e-4)
    torch.testing.assert_close(tiny.bound(), variational.bound(), rtol=0, atol=1e-3)


@pytest.mark.parametrize("power", [0.1, 0.5, 1.0])
def test_power_does_not_matter_where_nothing_is_lost(power: float) -> None:
    """With residuals of zero (M large) every α gives the exact GP."""
    kernel = matern(nu=2.5)
    gps = [OnlineGP(FAMILIES["CosS"](150), kernel, gaussian(), mean=ZeroMean(), power=p) for p in (0.0, power)]
    for x, y in tasks(2):
        for gp in gps:
            gp.update(x, y)
    torch.testing.assert_close(gps[1].latent(S).mean, gps[0].latent(S).mean, rtol=0, atol=2e-3)
    torch.testing.assert_close(gps[1].bound(), gps[0].bound(), rtol=0, atol=0.05)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_every_family_streams_with_power(family: str, power: float) -> None:
    """Sites stay proper over tasks: variances between zero and the prior's."""
    gp = model(FAMILIES[family](6), power=power)
    for x, y in tasks(4):
        gp.update(x, y)
    var = gp.latent(S).variance
    assert (var >= 0).all()
    assert (var <= variance(gp.kernel, S) * (1 + 1e-6)).all()
    assert torch.isfinite(gp.bound())
