"""Variances of several kernels at once, for any number of inputs."""

import gpytorch
import pytest
import torch
from gpytorch.kernels import AdditiveKernel, Kernel, MaternKernel, RBFKernel, ScaleKernel

import gpvae
from gpvae.kernels import covariance, variance

THREE = torch.Size([3])


def scaled(base: type[Kernel], **options: float) -> Kernel:
    kernel = ScaleKernel(base(batch_shape=THREE, **options), batch_shape=THREE).double()
    kernel.outputscale = torch.tensor([1.0, 2.0, 3.0])
    return kernel


KERNELS = {
    "one": ScaleKernel(RBFKernel()).double(),
    "three": scaled(RBFKernel),
    "three, added": AdditiveKernel(scaled(RBFKernel), scaled(MaternKernel, nu=1.5)),
    "three, without scale": MaternKernel(batch_shape=THREE).double(),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("num", [1, 2, 3, 4])  # also as many as there are kernels
@pytest.mark.parametrize("batch", [(), (3,)], ids=["shared", "own"])
def test_variances_are_the_diagonals_of_covariances(name: str, num: int, batch: tuple[int, ...]) -> None:
    kernel, x = KERNELS[name], torch.randn(*batch, num, 1, dtype=torch.float64)
    dense = covariance(kernel, x, x)
    found = variance(kernel, x)
    assert found.shape == dense.shape[:-1]
    torch.testing.assert_close(found, dense.diagonal(dim1=-2, dim2=-1))


@torch.no_grad()
def test_as_many_times_as_outputs_are_predicted_as_more_are() -> None:
    gp = gpvae.OnlineGP(gpvae.inducing.CosS(20), scaled(RBFKernel), gpytorch.likelihoods.GaussianLikelihood())
    x = torch.linspace(0, 5, 30, dtype=torch.float64)
    gp.update(x, torch.stack([torch.sin(x), torch.cos(x), x / 5]))
    new = torch.tensor([1.0, 2.5, 50.0, 60.0], dtype=torch.float64)
    four, three = gp.latent(new), gp.latent(new[:3])
    torch.testing.assert_close(three.variance, four.variance[:, :3])
    torch.testing.assert_close(
        three.variance[:, -1], torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), rtol=1e-6, atol=0
    )
