"""Random frequencies approximate the kernel, and better sampling has a smaller error."""

import itertools
import math

import gpytorch.kernels as gk
import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad
from torch import Tensor

from gpvae.inducing.spectral import Sampling, amplitudes, bandwidth, draw_frequencies, features, frequencies
from gpvae.kernels import UnsupportedKernelError, covariance

samplings = pytest.mark.parametrize("sampling", ["plain", "orthogonal", "qmc"])
X = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, (12, 3)))


def kernels() -> dict[str, gk.Kernel]:
    rbf = gk.ScaleKernel(gk.RBFKernel(ard_num_dims=3))
    rbf.base_kernel.lengthscale = torch.tensor([[0.7, 1.0, 1.5]])
    rbf.outputscale = 2.0
    matern = gk.ScaleKernel(gk.MaternKernel(nu=1.5))
    matern.base_kernel.lengthscale = 1.3
    rq = gk.ScaleKernel(gk.RQKernel(ard_num_dims=2, active_dims=(0, 2)))
    rq.base_kernel.lengthscale, rq.base_kernel.alpha = torch.tensor([[0.7, 1.5]]), 0.8
    mixture = gk.SpectralMixtureKernel(num_mixtures=2, ard_num_dims=3)
    mixture.mixture_weights, mixture.mixture_scales = torch.tensor([0.3, 0.9]), torch.tensor([0.1, 0.3])[:, None, None]
    mixture.mixture_means = torch.tensor([[[0.1, 0.5, 0.3]], [[0.4, 0.2, 0.0]]])
    found = {"rbf": rbf, "matern": matern, "sum": rbf + matern, "rq": rq, "mixture": mixture}
    found["product"] = rq * matern
    found["all"] = matern + rq * (rbf + gk.MaternKernel(nu=0.5)) + mixture
    return {name: kernel.double() for name, kernel in found.items()}


NAMES = list(kernels())


def approximate(kernel: gk.Kernel, num: int, sampling: Sampling, seed: int) -> Tensor:
    base = draw_frequencies(kernel, X.shape[-1], num, sampling, seed)
    H = features(frequencies(kernel, base), X)
    a = amplitudes(kernel, num)
    return (H * torch.cat([a, a], -1)) @ H.mT


def squared_error(kernel: gk.Kernel, num: int, sampling: Sampling, draws: int = 30) -> float:
    exact = covariance(kernel, X, X)
    return float(np.mean([float(((approximate(kernel, num, sampling, s) - exact) ** 2).mean()) for s in range(draws)]))


@samplings
@pytest.mark.parametrize("name", NAMES)
def test_features_are_unbiased(name: str, sampling: Sampling) -> None:
    """The mean over many seeds is the kernel, within four standard errors of the worst entry."""
    kernel = kernels()[name].requires_grad_(False)
    draws = torch.stack([approximate(kernel, 64, sampling, seed) for seed in range(300)])
    exact = covariance(kernel, X, X)
    standard_error = draws.std(0) / math.sqrt(len(draws))
    assert float(((draws.mean(0) - exact).abs() / (standard_error + 1e-4)).max()) < 4.5


@samplings
@pytest.mark.parametrize("name", NAMES)
def test_more_frequencies_err_less(name: str, sampling: Sampling) -> None:
    """Mean squared error falls at least like 1/R."""
    kernel = kernels()[name].requires_grad_(False)
    assert squared_error(kernel, 512, sampling) < squared_error(kernel, 64, sampling) / 5


@pytest.mark.parametrize("sampling", ["orthogonal", "qmc"])
@pytest.mark.parametrize("name", ["rbf", "sum"])
def test_structured_frequencies_err_less_than_plain_ones(name: str, sampling: Sampling) -> None:
    kernel = kernels()[name].requires_grad_(False)
    assert squared_error(kernel, 96, sampling) < 0.8 * squared_error(kernel, 96, "plain")


@samplings
def test_equal_seeds_draw_equal_frequencies_and_others_do_not(sampling: Sampling) -> None:
    a, b, c = (draw_frequencies(gk.RBFKernel(), 2, 33, sampling, seed) for seed in (5, 5, 6))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)
    assert a.shape == (33, 2)
    assert a.dtype == torch.float64


@samplings
def test_the_variance_is_exact(sampling: Sampling) -> None:
    """Σ_r a_r (cos² + sin²) = v, even if the number of components does not divide R."""
    kernel = kernels()["sum"].requires_grad_(False)
    K = approximate(kernel, 33, sampling, 0)
    torch.testing.assert_close(K.diagonal(), covariance(kernel, X, X).diagonal())


def test_dimensions_that_are_not_active_have_no_frequency() -> None:
    kernel = gk.RBFKernel(ard_num_dims=2, active_dims=(0, 2)).double().requires_grad_(False)
    kernel.lengthscale = torch.tensor([[0.5, 2.0]]).double()
    base = draw_frequencies(kernel, 3, 4096, "qmc")
    omega = frequencies(kernel, base)
    assert not omega[:, 1].any()
    torch.testing.assert_close(omega[:, [0, 2]], base[:, [0, 2]] / kernel.lengthscale)
    K = approximate(kernel, 4096, "qmc", 0)
    torch.testing.assert_close(K, covariance(kernel, X, X), rtol=0, atol=0.02)


@samplings
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, math.inf])
def test_frequencies_follow_the_spectrum_of_the_kernel(nu: float, sampling: Sampling) -> None:
    """In one dimension: normal for RBF, Student t with 2ν degrees of freedom for Matérn, up to sign."""
    kernel = gk.RBFKernel() if math.isinf(nu) else gk.MaternKernel(nu=nu)
    omega = draw_frequencies(kernel, 1, 2000, sampling).abs().numpy().ravel()
    spectrum = stats.norm if math.isinf(nu) else stats.t(df=2 * nu)
    assert stats.kstest(omega, lambda w: 2 * spectrum.cdf(w) - 1).pvalue > 1e-3


@pytest.mark.parametrize("tail", [0.5, 0.01, 1e-6])
@pytest.mark.parametrize("nu", [0.5, 2.5, math.inf])
def test_bandwidth_is_the_quantile_of_the_spectrum(nu: float, tail: float) -> None:
    """A share `tail` of the variance lies beyond it."""
    kernel = (gk.RBFKernel() if math.isinf(nu) else gk.MaternKernel(nu=nu)).double()
    kernel.lengthscale = 0.25
    spectrum = stats.norm if math.isinf(nu) else stats.t(df=2 * nu)
    assert 2 * spectrum.sf(bandwidth(kernel, tail) * 0.25) == pytest.approx(tail, rel=1e-9)


def one_dimensional() -> dict[str, gk.Kernel]:
    rq, periodic = gk.RQKernel().double(), gk.SpectralMixtureKernel(num_mixtures=1).double()
    rq.lengthscale, rq.alpha = 0.4, 1.7
    periodic.mixture_means, periodic.mixture_scales, periodic.mixture_weights = 0.8, 0.2, 1.0
    rough = gk.RQKernel().double()
    rough.lengthscale, rough.alpha = 1.0, 0.6
    rbf = gk.RBFKernel().double()
    rbf.lengthscale = 0.5
    return {"rq": rq, "rough rq": rough, "mixture": periodic, "product": rq * rbf, "quasi-periodic": periodic * rq}


def share_below(kernel: gk.Kernel, w: float) -> float:
    """P(|ω| < w) = 2/π ∫ k(τ) sin(wτ) / τ dτ, by quadrature of the kernel itself (Gil-Pelaez)."""
    zero = torch.zeros(1, 1, dtype=torch.float64)

    def integrand(tau: float) -> float:
        at = torch.full((1, 1), tau, dtype=torch.float64)
        return float(covariance(kernel, zero, at)) * (math.sin(w * tau) / tau if tau else w)

    edges = np.concatenate([np.linspace(0, 12, 13), [20, 40, 80, 160, 320, 640]])
    return 2 / math.pi * sum(quad(integrand, a, b, limit=400)[0] for a, b in itertools.pairwise(edges))


@torch.no_grad()
@pytest.mark.parametrize("name", one_dimensional())
def test_spectra_are_fourier_transforms_of_their_kernels(name: str) -> None:
    """Shares of the drawn frequencies below some are those that quadrature finds."""
    kernel = one_dimensional()[name]
    omega = frequencies(kernel, draw_frequencies(kernel, 1, 2**13, "qmc")).abs()
    for level in (0.2, 0.5, 0.8, 0.95):
        w = float(omega.quantile(level))
        assert share_below(kernel, w) == pytest.approx(level, abs=0.005), level


@torch.no_grad()
@pytest.mark.parametrize("name", ["rq", "rough rq"])
@pytest.mark.parametrize("tail", [0.5, 0.1, 0.01])
def test_bandwidth_of_a_rational_quadratic_kernel_by_quadrature(name: str, tail: float) -> None:
    kernel = one_dimensional()[name]
    assert 1 - share_below(kernel, bandwidth(kernel, tail)) == pytest.approx(tail, abs=2e-3)


def test_bandwidth_has_no_end_of_precision() -> None:
    """Far out the spectrum of α = 1 falls as exp(-sqrt(2) ω)."""
    kernel = gk.RQKernel().double()
    kernel.lengthscale, kernel.alpha = 1.0, 1.0
    assert bandwidth(kernel, 1e-17) == pytest.approx(-math.log(1e-17) / math.sqrt(2), rel=1e-6)


@pytest.mark.parametrize("name", ["product", "quasi-periodic", "mixture"])
@pytest.mark.parametrize("tail", [0.1, 0.01])
def test_no_more_than_the_tail_is_beyond_the_bandwidth_of_a_product(name: str, tail: float) -> None:
    kernel = one_dimensional()[name].requires_grad_(False)
    omega = frequencies(kernel, draw_frequencies(kernel, 1, 2**13, "qmc")).abs()
    assert float((omega > bandwidth(kernel, tail)).double().mean()) <= tail


def test_frequencies_follow_every_hyperparameter() -> None:
    """Gradients by lengthscales, α, means and scales are those of finite differences."""
    kernel = kernels()["all"]
    base = draw_frequencies(kernel, 3, 64, "qmc", 0)
    for parameter in kernel.parameters():
        start = parameter.detach().clone()

        def value(raw: Tensor, parameter: Tensor = parameter) -> Tensor:
            parameter.data = raw
            return (frequencies(kernel, base).sin().sum() * amplitudes(kernel, 64).sin().sum()).detach()

        (gradient,) = torch.autograd.grad(
            frequencies(kernel, base).sin().sum() * amplitudes(kernel, 64).sin().sum(), parameter
        )
        for index in range(start.numel()):
            step = torch.zeros_like(start).flatten()
            step[index] = 1e-5
            step = step.reshape(start.shape)
            expected = (value(start + step) - value(start - step)) / 2e-5
            torch.testing.assert_close(gradient.flatten()[index], expected, rtol=1e-4, atol=1e-4)
        parameter.data = start


def test_bandwidth_is_that_of_the_widest_component() -> None:
    narrow, wide = gk.RBFKernel().double(), gk.RBFKernel(batch_shape=torch.Size([2])).double()
    narrow.lengthscale, wide.lengthscale = 5.0, torch.tensor([[[3.0]], [[0.5]]]).double()
    assert bandwidth(narrow + wide, 0.01) == pytest.approx(stats.norm.isf(0.005) / 0.5)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="sampling must be one of"):
        draw_frequencies(gk.RBFKernel(), 1, 8, "sobol")
    with pytest.raises(UnsupportedKernelError, match=r"PeriodicKernel is not known.*RQKernel or SpectralMixtureKernel"):
        draw_frequencies(gk.RBFKernel() * gk.PeriodicKernel(), 1, 8)
    with pytest.raises(UnsupportedKernelError, match="not on the product"):
        draw_frequencies(gk.ScaleKernel(gk.RBFKernel() * gk.RBFKernel(), active_dims=(0,)), 2, 8)
    with pytest.raises(UnsupportedKernelError, match="1,024 terms, more than 64"):
        draw_frequencies(gk.SpectralMixtureKernel(num_mixtures=4, ard_num_dims=5), 5, 2000)
    with pytest.raises(ValueError, match="1 frequencies are too few for 2 kernel components"):
        draw_frequencies(gk.RBFKernel() + gk.RBFKernel(), 1, 1)
