"""Kernel and noise of series: the log evidence and its gradient are those of plain algebra, at any times."""

import pytest
import torch
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor
from torch.distributions import MultivariateNormal

from gpvae.vae import wave_kernel
from gpvae.vae.kernel_fit import LogEvidence, fit_series
from gpvae.vae.wave_kernel import WaveKernel

RNG = torch.Generator().manual_seed(0)


def test_log_evidence_and_gradients() -> None:
    """Those of a multivariate normal, but for the constant."""
    times, y = torch.tensor([0.0, 1.0, 2.0, 4.0, 5.0]), torch.randn(2, 5, 3, generator=RNG, dtype=torch.float64)
    shares, noise = (torch.rand(size, generator=RNG, dtype=torch.float64) for size in ((3, 2), (2, 5)))
    lags, lag = (times[:, None] - times).abs().unique(return_inverse=True)
    by_lag = torch.stack([(-lags / scale).exp() for scale in (1.0, 3.0)]).double().requires_grad_()
    noise.requires_grad_()

    def plain() -> Tensor:
        K = by_lag[:, lag] + torch.diag_embed(noise)
        normal = MultivariateNormal(torch.zeros(2, 1, 5, dtype=torch.float64), K[:, None])
        determinant = 0.5 * torch.linalg.slogdet(K)[1]
        quadratic = normal.log_prob(y.mT) + determinant[:, None] + 2.5 * torch.log(torch.tensor(2 * torch.pi))
        return (quadratic * shares.mT).sum() - determinant.sum()

    value = LogEvidence.apply(by_lag, noise, lag, y, shares)
    torch.testing.assert_close(value, plain())
    gradients = (torch.autograd.grad(found, (by_lag, noise)) for found in (value, plain()))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("evenly", [True, False])
def test_lengthscales_are_found_at_any_times(evenly: bool) -> None:
    times = torch.arange(80.0, dtype=torch.float64)
    if not evenly:
        times = times + 0.4 * torch.rand(80, generator=RNG, dtype=torch.float64)
    distance = (times[:, None] - times).abs()
    lengthscales = torch.tensor([4.0, 20.0], dtype=torch.float64)
    K = (-distance / lengthscales[:, None, None]).exp() + 0.01 * torch.eye(80)
    y = torch.linalg.cholesky(K) @ torch.randn(2, 80, 24, generator=RNG, dtype=torch.float64)
    kernel, likelihood = WaveKernel("matern12", 2), GaussianLikelihood(batch_shape=torch.Size([2])).double()
    fit_series(kernel, likelihood, times, y.permute(2, 0, 1), torch.ones(1, 2, 80))
    torch.testing.assert_close(kernel.lengthscale.detach().flatten(), lengthscales, rtol=0.35, atol=0.0)


def test_latents_are_the_same_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit: large matrices are computed latent by latent."""
    kernel, x = WaveKernel("matern32", 3, [24.0, 12.0]), torch.rand(40, 1, generator=RNG, dtype=torch.float64)
    kernel.lengthscale = torch.tensor([0.3, 1.0, 5.0])[:, None, None]
    together = kernel(x, x).to_dense()
    monkeypatch.setattr(wave_kernel, "MANY", 1)
    assert torch.equal(kernel(x, x).to_dense(), together)
