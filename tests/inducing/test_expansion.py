"""Laws of expansions in cosines, and of precisions that are kept as weights along the stream."""

import pytest
import torch
from torch import Tensor

from gpvae.inducing import CosineExpansion
from gpvae.kernels import variance
from gpvae.streaming import Frame
from gpvae.utils.linalg import identity_like
from gpvae.vae.observed_times import ObservedTimes, stretched
from gpvae.vae.precision_by_time import common_weights, num_intervals, precision_of
from gpvae.vae.wave_kernel import WaveKernel

HORIZON, PERIODS = 240.0, [24.0, 12.0]
TIMES = torch.arange(0.0, 80.0, dtype=torch.float64)


def kernel_of(latent_dim: int = 2) -> WaveKernel:
    kernel = WaveKernel("matern12", latent_dim, PERIODS).requires_grad_(False)
    kernel.lengthscale = 10.0 + 20.0 * torch.arange(latent_dim, dtype=torch.float64)[:, None, None]
    return kernel


def frame_of(kernel: WaveKernel, num_inducing: int = 30) -> Frame:
    family = CosineExpansion(num_inducing, horizon=HORIZON, periods=PERIODS)
    return Frame.of(family.advance(kernel, TIMES[:, None]), kernel)


def family_of(frame: Frame) -> CosineExpansion:
    assert isinstance(frame.inducing, CosineExpansion)
    return frame.inducing


def test_coefficients_are_the_least_squares_projection() -> None:
    family = family_of(frame_of(kernel_of()))
    coefficients = torch.randn(30, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    f = family.waves(family.nodes) @ coefficients
    assert torch.allclose(family.Phi.mT @ f, coefficients, rtol=1e-3, atol=1e-3)


def test_features_are_those_of_the_covariances_and_leave_no_residual() -> None:
    kernel = kernel_of()
    frame = frame_of(kernel)
    a, prior = frame.features(TIMES[:, None])
    expected = torch.linalg.solve_triangular(frame.L, frame.inducing.kuf(kernel, TIMES[:, None]), upper=False)
    assert torch.allclose(a, expected, atol=1e-6)
    assert torch.equal(prior, (a**2).sum(-2))


def test_beyond_the_horizon_the_kernel_decides() -> None:
    kernel = kernel_of()
    far = torch.tensor([[HORIZON + 1e5]], dtype=torch.float64)
    a, prior = frame_of(kernel).features(torch.cat([TIMES[:1, None], far]))
    assert torch.allclose(a[..., 1], torch.zeros_like(a[..., 1]), atol=1e-9)
    assert torch.allclose(prior[..., 1:], variance(kernel, far))


def test_all_latents_share_the_cosines() -> None:
    assert frame_of(kernel_of(3)).inducing.get_buffer("chosen").shape == (30,)


def weights() -> Tensor:
    return torch.rand(2, 2, len(TIMES), generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.5


def test_weights_of_intervals_give_nearly_the_precision_of_the_observations() -> None:
    frame = frame_of(kernel_of())
    w = weights()
    a, _ = frame.features(TIMES[:, None])
    G = torch.einsum("lmt,blt,lnt->blmn", a, w, a)
    family = family_of(frame)
    moments = torch.zeros(3, num_intervals(family), dtype=torch.float64)
    observed = ObservedTimes(family.origin, family.length, moments).including(TIMES)
    kept = observed.sums(TIMES, w)
    assert kept.shape == (2, 2, num_intervals(family))
    assert torch.allclose(kept.sum(-1), w.sum(-1))
    covariance, expected = (
        torch.linalg.inv(identity_like(G) + part) for part in (precision_of(family, frame.L, observed, kept), G)
    )
    var, exact = (torch.einsum("lmt,blmn,lnt->blt", a, part, a) for part in (covariance, expected))
    assert torch.allclose(var, exact, rtol=0.25)
    assert torch.allclose(var.mean(-1), exact.mean(-1), rtol=0.05)


def test_common_weights_of_proportional_ones_are_exact() -> None:
    w = weights()[:1, :1] * torch.tensor([1.0, 3.0])[None, :, None]
    shape, scale = common_weights(w)
    assert shape.shape[1] == 1
    assert torch.allclose(scale * shape, w)


@pytest.mark.parametrize("doublings", [0, 1, 2])
def test_sums_over_a_doubled_horizon_keep_their_total(doublings: int) -> None:
    w = weights()
    horizon = torch.tensor(HORIZON)
    again = stretched(w, horizon, 2**doublings * horizon)
    assert again.shape == w.shape
    assert torch.allclose(again.sum(-1), w.sum(-1))
    assert bool((again[..., len(TIMES) // 2**doublings :] == 0).all())


def test_a_first_task_without_extent_is_a_constant() -> None:
    kernel = kernel_of()
    family = CosineExpansion(4, periods=PERIODS).advance(kernel, torch.full((3, 1), 5.0, dtype=torch.float64))
    a, prior = Frame.of(family, kernel).features(torch.full((1, 1), 5.0, dtype=torch.float64))
    assert bool(torch.isfinite(a).all())
    assert bool((prior > 0).all())


def test_covariances_of_values_are_those_of_features_and_of_the_kernel_beyond() -> None:
    kernel = kernel_of()
    frame = frame_of(kernel)
    x = torch.tensor([[3.0], [50.0], [300.0]], dtype=torch.float64)
    K, (a, prior) = frame.inducing.kff(kernel, x), frame.features(x)
    assert torch.allclose(K.diagonal(dim1=-2, dim2=-1), prior, rtol=1e-5)
    assert torch.allclose(K[..., :2, 2], (a.mT @ a)[..., :2, 2], rtol=1e-4, atol=1e-6)
    assert float(torch.linalg.eigvalsh(K).min()) > -1e-6
