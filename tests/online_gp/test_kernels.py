"""Kernels of other kinds: those that are learnt, and those that are refused in words."""

import pytest
import torch
from gpytorch.kernels import (
    Kernel,
    MaternKernel,
    MultitaskKernel,
    PeriodicKernel,
    RBFKernel,
    RBFKernelGrad,
    RQKernel,
    ScaleKernel,
    SpectralMixtureKernel,
)
from gpytorch.likelihoods import GaussianLikelihood

from gpvae import OnlineGP
from gpvae.inducing import CosS, LegSPath, PivotedPoints
from gpvae.kernels import UnsupportedKernelError, covariance
from tests.toys import gaussian


def rational_quadratic() -> Kernel:
    kernel = ScaleKernel(RQKernel()).double()
    kernel.base_kernel.lengthscale, kernel.base_kernel.alpha = 1.0, 2.0
    return kernel


def mixture() -> Kernel:
    kernel = SpectralMixtureKernel(num_mixtures=2).double()
    kernel.mixture_means, kernel.mixture_scales = torch.tensor([[[0.1]], [[0.4]]]), torch.tensor([[[0.1]], [[0.05]]])
    kernel.mixture_weights = torch.tensor([1.0, 0.5])
    return kernel


def product() -> Kernel:
    slow = RBFKernel().double()
    slow.lengthscale = 3.0
    return rational_quadratic() * slow


@pytest.mark.parametrize("make", [rational_quadratic, mixture, product])
def test_a_path_memory_is_close_to_the_exact_gp(make: type) -> None:
    """Along a path that is time itself, with features enough; the second batch is learnt from the memory alone."""
    x = torch.linspace(0, 6, 60, dtype=torch.float64)[:, None]
    y = torch.sin(2 * x[:, 0]) + 0.3 * torch.cos(5 * x[:, 0])
    gp = OnlineGP(LegSPath(40, num_frequencies=4096), make(), gaussian(0.05))
    for part in (slice(30), slice(30, 60)):
        gp.update(x[part], y[part])
    with torch.no_grad():
        at = torch.linspace(0.5, 5.5, 20, dtype=torch.float64)[:, None]
        kernel, offset = make(), gp.mean.mean.constant
        K = covariance(kernel, x, x) + 0.05 * torch.eye(60, dtype=torch.float64)
        exact = offset + covariance(kernel, at, x) @ torch.linalg.solve(K, y - offset)
        torch.testing.assert_close(gp.latent(at).mean, exact, rtol=0, atol=0.05)


def test_hyperparameters_of_other_spectra_are_trained() -> None:
    """α of a rational quadratic kernel follows the data in the first task of a path memory."""
    x = torch.linspace(0, 6, 60, dtype=torch.float64)[:, None]
    gp = OnlineGP(LegSPath(20, num_frequencies=256), rational_quadratic(), gaussian(0.05))
    before = gp.kernel.base_kernel.alpha.item()
    gp.update(x, torch.sin(2 * x[:, 0]), train_hyperparameters=True, steps=20, lr=0.05)
    assert gp.kernel.base_kernel.alpha.item() != before


def test_a_memory_knows_how_many_variables_other_spectra_need() -> None:
    x = torch.linspace(0, 6, 60, dtype=torch.float64)
    needed = {}
    for make in (rational_quadratic, mixture, product):
        gp = OnlineGP(CosS(200), make(), gaussian(0.05)).update(x, torch.sin(x))
        needed[make] = gp.inducing.num_needed(gp.kernel)
    assert needed[mixture] < 20  # waves of 0.4 + 2.6 * 0.05 a unit of time, two cosines each
    assert needed[rational_quadratic] < needed[product]  # frequencies add
    assert OnlineGP(CosS(20), PeriodicKernel(), gaussian(0.05)).inducing.num_needed(PeriodicKernel()) is None


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (MultitaskKernel(RBFKernel(), num_tasks=3), "MultitaskKernel has 3 outputs"),
        (ScaleKernel(MultitaskKernel(RBFKernel(), num_tasks=2)), "ScaleKernel has 2 outputs|MultitaskKernel has 2"),
        (RBFKernelGrad(), "RBFKernelGrad has 2 outputs"),
    ],
)
def test_kernels_of_several_outputs_are_refused(kernel: Kernel, name: str) -> None:
    with pytest.raises(UnsupportedKernelError, match=rf"({name}).*batch_shape=torch.Size\(\[[23]\]\)"):
        OnlineGP(PivotedPoints(5), kernel, GaussianLikelihood())


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (RBFKernel(ard_num_dims=3), "ard_num_dims=3 of RBFKernel, but its inputs have 2 dimension"),
        (RBFKernel(ard_num_dims=1), "ard_num_dims=1 of RBFKernel, but its inputs have 2 dimension"),
        (ScaleKernel(MaternKernel(ard_num_dims=3)), "ard_num_dims=3 of MaternKernel"),
        (RBFKernel(ard_num_dims=2, active_dims=(0,)), "ard_num_dims=2 of RBFKernel, but its inputs have 1 dimension"),
        (RBFKernel() + ScaleKernel(RQKernel(ard_num_dims=4)), "ard_num_dims=4 of RQKernel"),
        (RBFKernel(active_dims=(2,)), r"active_dims=\(2,\) of RBFKernel do not fit inputs of 2 dimension"),
        (RBFKernel() * RBFKernel(active_dims=(0, 5)), r"active_dims=\(0, 5\) of RBFKernel"),
        (SpectralMixtureKernel(num_mixtures=2), "ard_num_dims=1 of SpectralMixtureKernel"),
    ],
)
def test_kernels_for_other_inputs_are_refused(kernel: Kernel, words: str) -> None:
    gp = OnlineGP(PivotedPoints(5), kernel, GaussianLikelihood())
    x = torch.rand(10, 2, generator=torch.Generator().manual_seed(0))
    for call in (lambda: gp.update(x, x[:, 0]), lambda: gp.fit_hyperparameters(x, x[:, 0]), lambda: gp.predict(x)):
        with pytest.raises(ValueError, match=words):
            call()


def test_kernels_that_choose_among_inputs_are_learnt() -> None:
    kernel = ScaleKernel(RBFKernel(ard_num_dims=2, active_dims=(0, 2))) + MaternKernel(ard_num_dims=1, active_dims=(1,))
    x = torch.rand(20, 3, generator=torch.Generator().manual_seed(0))
    gp = OnlineGP(PivotedPoints(10), kernel, GaussianLikelihood()).update(x, x.sum(-1))
    assert torch.isfinite(gp.predict(x).mean).all()
