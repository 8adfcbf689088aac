"""The bound of the GP-VAE: against the paper's long form, and against exact Gaussian processes."""

import math

import gpytorch
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import MultivariateNormal, Normal

from gpvae.inducing import CosS, LegS, PerDimPoints, PivotedPoints, Points
from gpvae.kernels import covariance
from gpvae.vae.model import GPVAE
from gpvae.vae.networks import Decoded, Decoder, Encoder

NOISE = 0.3


class IdentityEncoder(nn.Module):
    """An encoder whose pseudo-observations are the observations."""

    def forward(self, y: Tensor, mask: Tensor, clock: Tensor) -> tuple[Tensor, Tensor]:
        return y.mT.double(), mask.mT.double() / NOISE**2


class IdentityDecoder(nn.Module):
    """A decoder that returns the latents."""

    def outputs(self, f: Tensor, clock: Tensor) -> Decoded:
        return Decoded(f.mT, torch.tensor(NOISE, dtype=f.dtype).log(), None)


def latent_kernel(latent_dim: int) -> gpytorch.kernels.Kernel:
    kernel = gpytorch.kernels.RBFKernel(batch_shape=torch.Size([latent_dim])).double()
    kernel.lengthscale = torch.linspace(1.0, 3.0, latent_dim, dtype=torch.float64)[:, None, None]
    return kernel


def linear_gaussian(inducing: object, latent_dim: int) -> GPVAE:
    return GPVAE(IdentityEncoder(), IdentityDecoder(), latent_kernel(latent_dim), inducing)


def exact_expectation(vae: GPVAE, times: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """The bound with exact E log p(y | f): parabolas are integrated by two points, at ± one standard deviation."""
    seen, past = vae.task(times)
    ones = torch.ones(len(y), *seen.prior.shape, dtype=torch.float64)
    return 0.5 * (vae.bound(seen, past, y, mask, ones) + vae.bound(seen, past, y, mask, -ones))


def log_evidence(kernel: gpytorch.kernels.Kernel, times: Tensor, y: Tensor) -> Tensor:
    """log N(y; 0, K + σ² I) of each series, over all latent dimensions."""
    K = covariance(kernel, times[:, None], times[:, None]) + NOISE**2 * torch.eye(len(times), dtype=torch.float64)
    return MultivariateNormal(torch.zeros(len(times), dtype=torch.float64), K).log_prob(y.mT.double()).sum(-1)


def test_a_linear_gaussian_model_gives_the_exact_log_evidence_of_a_stream() -> None:
    """With as many points as times, log p(y₁, y₂) = bound of task 2 + log scale of the site of task 1."""
    torch.manual_seed(0)
    times = torch.arange(24, dtype=torch.float64)
    y = torch.randn(3, 24, 2, dtype=torch.float64)
    mask = torch.ones_like(y, dtype=torch.bool)
    vae = linear_gaussian(PivotedPoints(24), latent_dim=2)
    vae.posterior.begin(vae.kernel, times[:, None])  # a point at every time from the start
    first = exact_expectation(vae, times[:12], y[:, :12], mask[:, :12])
    torch.testing.assert_close(first, log_evidence(vae.kernel, times[:12], y[:, :12]), rtol=1e-6, atol=1e-6)
    vae.consolidate(times[:12], y[:, :12], mask[:, :12])
    vae.posterior.begin(vae.kernel, times[12:, None])
    second = exact_expectation(vae, times[12:], y[:, 12:], mask[:, 12:])
    log_scale = -0.5 * (math.log(2 * math.pi * NOISE**2) + y[:, :12] ** 2 / NOISE**2).sum((-2, -1))
    torch.testing.assert_close(second + log_scale, log_evidence(vae.kernel, times, y), rtol=1e-6, atol=1e-6)


def test_the_posterior_with_as_many_points_as_times_is_the_exact_one_given_pseudo_observations() -> None:
    torch.manual_seed(0)
    times = torch.arange(15, dtype=torch.float64)
    y = torch.randn(2, 15, 3, dtype=torch.float64)
    mask = torch.ones_like(y, dtype=torch.bool)
    vae = linear_gaussian(PivotedPoints(15), latent_dim=3)
    vae.posterior.begin(vae.kernel, times[:, None])
    vae.consolidate(times, y, mask)
    between = times + 0.5
    K, k = (covariance(vae.kernel, times[:, None], t[:, None]) for t in (times, between))
    weights = torch.linalg.solve(K + NOISE**2 * torch.eye(15, dtype=torch.float64), k)
    f = vae.latent(between)
    torch.testing.assert_close(f.mean, (weights.mT @ y.mT[..., None])[..., 0], rtol=1e-6, atol=1e-6)
    var = 1 - (k * weights).sum(-2)
    torch.testing.assert_close(f.variance, var.expand_as(f.mean), rtol=1e-5, atol=1e-7)


FAMILIES = [LegS(8), CosS(8), PivotedPoints(8), PerDimPoints(8), Points(8)]


@pytest.mark.parametrize("inducing", FAMILIES, ids=lambda family: type(family).__name__)
def test_it_is_the_long_form_of_the_paper(inducing: object) -> None:
    """Σ_t E[log p(y_t|f_t) - log N(f_t; ỹ_t, ṽ_t)] + Σ_l L_H with the paper's q(u), appendix D.2."""
    torch.manual_seed(0)
    times = torch.linspace(0, 11, 20, dtype=torch.float64)
    y, mask = torch.randn(2, 20, 4), torch.rand(2, 20, 4) > 0.2
    vae = GPVAE(Encoder(4, 3, 16), Decoder(3, 4, 16), latent_kernel(3), inducing)
    vae.posterior.begin(vae.kernel, times[:, None])
    seen, past = vae.task(times)
    noise = torch.randn(2, 3, 20, dtype=torch.float64)
    with torch.no_grad():
        value = vae.bound(seen, past, y, mask, noise)
        expected = torch.stack([long_form(vae, times, y[b], mask[b], noise[b]) for b in range(2)])
    torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-6)


def long_form(vae: GPVAE, times: Tensor, y: Tensor, mask: Tensor, noise: Tensor) -> Tensor:
    family, kernel = vae.posterior.inducing, vae.kernel
    Kuu = family.kuu(kernel)
    Kuu = Kuu + 1e-9 * Kuu.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None] * torch.eye(Kuu.shape[-1])
    Kuf = family.kuf(kernel, times[:, None])
    pseudo, precision = (part[0] for part in vae.encode(times, y[None], mask[None]))
    v = 1 / precision
    S = Kuu + Kuf @ torch.diag_embed(precision) @ Kuf.mT
    m = Kuu @ torch.linalg.solve(S, Kuf @ (precision * pseudo)[..., None])
    A = Kuu @ torch.linalg.solve(S, Kuu)
    P = torch.linalg.solve(Kuu, Kuf)  # Kuu⁻¹ Kuf
    mean = (P.mT @ m)[..., 0]
    conditional = 1 - (Kuf * P).sum(-2)
    var = conditional + (P * (A @ P)).sum(-2)
    kl = 0.5 * (
        torch.linalg.solve(Kuu, A).diagonal(dim1=-2, dim2=-1).sum(-1)
        + (m * torch.linalg.solve(Kuu, m)).sum((-2, -1))
        - Kuu.shape[-1]
        + torch.logdet(Kuu)
        - torch.logdet(A)
    )
    hensman = Normal(mean, v.sqrt()).log_prob(pseudo) - 0.5 * conditional / v - 0.5 * (var - conditional) / v
    f = mean + var.sqrt() * noise
    likelihood = torch.where(mask, Normal(*vae.decode(times, f)).log_prob(y), 0.0).double().sum()
    pseudo_term = Normal(pseudo, v.sqrt()).log_prob(mean) - 0.5 * var / v  # E_q log N(f; ỹ, ṽ)
    return likelihood - pseudo_term.sum() + hensman.sum() - kl.sum()


def test_what_is_masked_changes_nothing() -> None:
    torch.manual_seed(0)
    times = torch.arange(10, dtype=torch.float64)
    y, mask = torch.randn(2, 10, 3), torch.rand(2, 10, 3) > 0.5
    mask[0, :4] = False
    other = torch.where(mask, y, torch.full_like(y, torch.nan))
    vae = GPVAE(Encoder(3, 2, 8), Decoder(2, 3, 8), latent_kernel(2), LegS(5))
    vae.posterior.begin(vae.kernel, times[:, None])
    seen, past = vae.task(times)
    noise = torch.randn(2, 2, 10, dtype=torch.float64)
    values = [vae.bound(seen, past, given, mask, noise) for given in (y, other)]
    assert torch.equal(*values)
    gradients = [torch.autograd.grad(v.sum(), list(vae.encoder.parameters())) for v in values]
    assert all(torch.equal(a, b) and bool(a.isfinite().all()) for a, b in zip(*gradients, strict=True))
