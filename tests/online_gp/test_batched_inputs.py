"""Predictions for a batch of sets of inputs are those for each of them; they follow the inputs."""

import copy

import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import LinearMean

from gpvae import OnlineGP
from gpvae.inducing import CosineExpansion, CosS, FourierFeatures, LegSPath, PerDimPoints, PivotedPoints
from gpvae.inducing.base import InducingVariables
from tests.toys import matern, rbf

TIME = [
    CosS(10),
    CosineExpansion(10, horizon=2.0, periods=[0.8]),
    FourierFeatures(11, 0.0, 4.0),
    PivotedPoints(10),
    LegSPath(10, 64),
]


@pytest.mark.parametrize("family", TIME, ids=lambda family: type(family).__name__)
@pytest.mark.parametrize("learnt", ["a batch", "a batch and points that wait", "points that wait", "nothing"])
def test_a_batch_is_its_sets_one_by_one(family: InducingVariables, learnt: str) -> None:
    gp = OnlineGP(copy.deepcopy(family), matern(0.7, 1.0, 2.5), GaussianLikelihood())
    x = torch.linspace(0, 3, 30).double()
    if "batch" in learnt:
        gp.update(x, 5 + torch.sin(3 * x))
    if "wait" in learnt:
        for one in x[-3:]:
            gp.update(one[None] + 0.01, 5 + torch.sin(3 * one[None]))
    sets = torch.linspace(0.1, 2.9, 24).double().reshape(2, 3, 4, 1)
    f, joint, y = gp.latent(sets), gp.latent(sets, joint=True), gp.predict(sets)
    assert f.mean.shape == joint.mean.shape == y.mean.shape == (2, 3, 4)
    one = gp.latent(sets[1, 2], joint=True)
    torch.testing.assert_close(f.mean[1, 2], one.mean)
    torch.testing.assert_close(joint.covariance_matrix[1, 2], one.covariance_matrix, rtol=0, atol=1e-10)
    torch.testing.assert_close(f.variance[1, 2], one.variance, rtol=0, atol=1e-8)
    torch.testing.assert_close(y.variance[1, 2], gp.predict(sets[1, 2]).variance)
    assert gp.sample(sets, 5).shape == (5, 2, 3, 4)


@pytest.mark.parametrize("family", [PivotedPoints(12), PerDimPoints(12)], ids=lambda family: type(family).__name__)
def test_outputs_come_after_the_batch(family: InducingVariables) -> None:
    kernel = ScaleKernel(RBFKernel(batch_shape=torch.Size([2])), batch_shape=torch.Size([2]))
    gp = OnlineGP(family, kernel, GaussianLikelihood(batch_shape=torch.Size([2])))
    x = torch.rand(30, 3, generator=torch.Generator().manual_seed(0)).double()
    gp.update(x, torch.stack([x.sum(-1), x[:, 0]]))
    sets = x.reshape(5, 6, 3)
    joint = gp.latent(sets, joint=True)
    assert joint.mean.shape == (5, 2, 6)
    torch.testing.assert_close(joint.mean[3], gp.latent(sets[3]).mean)
    torch.testing.assert_close(gp.latent(sets).mean, joint.mean)


def test_gradients_go_through_the_prior_mean() -> None:
    gp = OnlineGP(CosS(20), rbf(0.1, 1.0), GaussianLikelihood(), mean=LinearMean(1))
    x = torch.linspace(0, 1, 20).double()
    gp.update(x, 3 * x)
    far = torch.tensor([[50.0]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(gp.latent(far).mean.sum(), far)
    assert slope.item() == pytest.approx(3, abs=0.05)
