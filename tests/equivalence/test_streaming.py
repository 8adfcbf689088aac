"""Transported sites give the streaming sparse GP of Bui et al. (2017), without S⁻¹ - K⁻¹."""

import pytest
import torch
from gpytorch.kernels import ScaleKernel
from gpytorch.means import ZeroMean
from torch import Tensor

from gpvae import OnlineGP
from gpvae.inducing import InducingVariables, Points
from gpvae.kernels import covariance, variance
from tests.equivalence import dense
from tests.equivalence.views import kuu, q_of_u
from tests.toys import FAMILIES, gaussian, matern, tasks, wave

S = torch.linspace(0.0, 3.5, 21, dtype=torch.float64)[:, None]
NOISE = torch.tensor(0.1, dtype=torch.float64)


class Growing(Points):
    """Points that keep all old ones and add new inputs, the last among them, so that new Z ⊇ old Z."""

    def choose(self, kernel: ScaleKernel, x: Tensor) -> Tensor:
        """Old Z ∪ some new inputs."""
        new = torch.cat([x[::4], x[-1:]])
        return torch.cat([self.Z, new]) if self.started else new


@torch.no_grad()
def textbook(families: list[InducingVariables], kernels: list[ScaleKernel], data: list) -> dense.Gaussian:
    """Bui et al. over the tasks, with a family as it was at the end of each, and the kernel of each."""
    q = None
    for i, (u, kernel, (x, y)) in enumerate(zip(families, kernels, data, strict=True)):
        K, kuf = kuu(u, kernel), u.kuf(kernel, x)
        if q is None:
            q = dense.sgpr(K, kuf, variance(kernel, x), NOISE, y)
        else:
            old = families[i - 1]
            kaa_old, kaa, kab = kuu(old, kernels[i - 1]), kuu(old, kernel), u.kuv(kernel, old).mT
            q = dense.streaming_sgpr(q, kaa_old, kaa, K, kab, kuf, variance(kernel, x), NOISE, y)
    assert q is not None
    return q


def stream_and_textbook(family: str, kernels: list[ScaleKernel]) -> tuple[dense.Gaussian, dense.Gaussian, OnlineGP]:
    """The same tasks absorbed by OnlineGP and by the textbook update."""
    data = tasks(3, 75)
    gp = OnlineGP(FAMILIES[family](6), matern(), gaussian(), mean=ZeroMean())
    families = []
    for kernel, (x, y) in zip(kernels, data, strict=True):
        gp.kernel.load_state_dict(kernel.state_dict())
        gp.update(x, y)
        frozen = FAMILIES[family](6)
        frozen.load_state_dict(gp.inducing.state_dict())
        families.append(frozen)
    return q_of_u(gp.posterior, gp.kernel), textbook(families, kernels, data), gp


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
@pytest.mark.parametrize("family", ["LegS", "CosS", "LegSPath", "Points", "LegT", "FourierFeatures"])
def test_several_tasks_are_streaming_sgpr(family: str) -> None:
    """Posterior and bound after three tasks agree with the textbook update, unwhitened."""
    found, expected, _ = stream_and_textbook(family, [matern()] * 3)
    torch.testing.assert_close(found.mean, expected.mean, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(found.cov, expected.cov, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(found.bound, expected.bound, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
@pytest.mark.parametrize("family", ["LegS", "CosS", "Points"])
def test_hyperparameters_may_change_between_tasks(family: str) -> None:
    """Old sites stay exact: the textbook update with q_old / p_old under the OLD kernel, all else under the new."""
    kernels = [matern(0.5, 1.3), matern(0.7, 0.9), matern(0.35, 2.0)]
    found, expected, gp = stream_and_textbook(family, kernels)
    torch.testing.assert_close(found.mean, expected.mean, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(found.cov, expected.cov, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(found.bound, expected.bound, rtol=1e-6, atol=1e-6)
    with torch.no_grad():
        u, kernel = gp.inducing, gp.kernel
        mean, cov = dense.predict(expected, kuu(u, kernel), u.kuf(kernel, S), covariance(kernel, S, S))
    torch.testing.assert_close(gp.latent(S).mean, mean, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(gp.latent(S).variance, cov.diagonal(), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
@pytest.mark.parametrize("family", ["LegS", "Points"])
def test_hyperparameters_changed_after_the_last_task_keep_the_likelihood_of_u(family: str) -> None:
    """Predictions under another kernel use q(u) ∝ p_new(u) q_old(u) / p_old(u)."""
    data = tasks(1, 40)
    gp = OnlineGP(FAMILIES[family](6), matern(), gaussian(), mean=ZeroMean()).update(*data[0])
    old_prior, old = kuu(gp.inducing, gp.kernel), q_of_u(gp.posterior, gp.kernel)
    gp.kernel.base_kernel.lengthscale, gp.kernel.outputscale = 0.8, 0.7
    new_prior = kuu(gp.inducing, gp.kernel)
    cov = torch.linalg.inv(torch.linalg.inv(new_prior) + torch.linalg.inv(old.cov) - torch.linalg.inv(old_prior))
    mean = cov @ torch.linalg.solve(old.cov, old.mean)
    with torch.no_grad():
        expected = dense.predict(
            dense.Gaussian(mean, cov, old.bound), new_prior, gp.inducing.kuf(gp.kernel, S), covariance(gp.kernel, S, S)
        )
    torch.testing.assert_close(gp.latent(S).mean, expected[0], rtol=0, atol=1e-6)
    torch.testing.assert_close(gp.latent(S).variance, expected[1].diagonal(), rtol=0, atol=1e-6)


def assert_batch_sgpr(gp: OnlineGP, kernel: ScaleKernel) -> None:
    """The posterior of the last variables is that of batch SGPR on all data."""
    x, y = wave(60)
    with torch.no_grad():
        expected = dense.sgpr(kuu(gp.inducing, kernel), gp.inducing.kuf(kernel, x), variance(kernel, x), NOISE, y)
    found = q_of_u(gp.posterior, kernel)
    torch.testing.assert_close(found.mean, expected.mean, rtol=0, atol=1e-6)
    torch.testing.assert_close(found.cov, expected.cov, rtol=0, atol=1e-6)
    torch.testing.assert_close(found.bound, expected.bound, rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_new_points_that_contain_the_old_ones_lose_nothing() -> None:
    """With new Z ⊇ old Z, and a Markov kernel whose old Z screen old data from new Z, the stream is batch SGPR.

    (Without the screening the new points would say more about the old data than the old points did.)
    """
    kernel = matern(nu=0.5)
    gp = OnlineGP(Growing(5, trainable=False), kernel, gaussian(), mean=ZeroMean())
    for x, y in tasks(3, 60):
        gp.update(x, y)
    assert_batch_sgpr(gp, kernel)


def test_fixed_variables_lose_nothing() -> None:
    """Fourier features do not move, so a stream equals batch SGPR on all data."""
    gp = OnlineGP(FAMILIES["FourierFeatures"](15), matern(), gaussian(), mean=ZeroMean())
    for x, y in tasks(4, 60):
        gp.update(x, y)
    whole = OnlineGP(FAMILIES["FourierFeatures"](15), matern(), gaussian(), mean=ZeroMean()).update(*wave(60))
    torch.testing.assert_close(gp.latent(S).mean, whole.latent(S).mean, rtol=0, atol=1e-7)
    torch.testing.assert_close(gp.latent(S).variance, whole.latent(S).variance, rtol=0, atol=1e-7)
    torch.testing.assert_close(gp.bound(), whole.bound(), rtol=0, atol=1e-4)


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_points_that_all_stay_lose_nothing() -> None:
    """With the same Z in every task a stream is batch SGPR on all data with that Z."""
    kernel = matern(nu=1.5)
    gp = OnlineGP(Points(5, trainable=False, keep=1.0), kernel, gaussian(), mean=ZeroMean())
    for x, y in tasks(4, 60):
        gp.update(x, y)
    assert_batch_sgpr(gp, kernel)
