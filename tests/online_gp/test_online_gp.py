"""The interface of OnlineGP: update, predict, latent, sample, reconstruct."""

import math

import numpy as np
import pytest
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from torch.distributions import Normal

from gpvae import OnlineGP
from gpvae.inducing import CosS, LegS, LegSPath, PivotedPoints, Points
from tests.toys import FAMILIES, gaussian, matern, model, rbf, tasks, wave


def test_a_stream_in_a_few_lines() -> None:
    """Fit on the first batch, update with each, predict anywhere: the past is remembered."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 20, 400))
    y = np.sin(x) + 0.1 * rng.normal(size=400)
    gp = OnlineGP(LegS(50), ScaleKernel(RBFKernel()), GaussianLikelihood())
    gp.fit_hyperparameters(x[:100], y[:100])
    for i in range(0, 400, 100):
        gp.update(x[i : i + 100], y[i : i + 100])
    s = np.linspace(0.5, 19.5, 100)
    y_hat = gp.predict(s)
    assert isinstance(y_hat, Normal)
    assert float((y_hat.mean - torch.from_numpy(np.sin(s))).abs().mean()) < 0.06
    assert float(y_hat.stddev.mean()) == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize("kind", ["list", "float32", "numpy", "numpy [N, 1]", "integers", "read-only", "reversed"])
def test_arrays_of_any_type_are_welcome(kind: str) -> None:
    """Lists, NumPy arrays of any dtype and layout, and tensors of any precision all give the same model."""
    x, y = np.arange(12.0), np.array([0.0, 1, 2, 1, 0, -1, -2, -1, 0, 1, 2, 1])
    expected = OnlineGP(LegS(12), matern(2.0), gaussian()).update(torch.from_numpy(x), torch.from_numpy(y))
    readonly = np.arange(12.0), y.copy()
    for array in readonly:
        array.flags.writeable = False
    given = {
        "list": (x.tolist(), y.tolist()),
        "float32": (torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)),
        "numpy": (x, y),
        "numpy [N, 1]": (x[:, None], y[:, None]),
        "integers": (x.astype(np.int32), y.astype(np.int64)),
        "read-only": readonly,
        "reversed": (x[::-1], y[::-1]),
    }[kind]
    found = OnlineGP(LegS(12), matern(2.0), gaussian()).update(*given)
    s = [0.5, 3.3, 20.0]
    torch.testing.assert_close(found.latent(s).mean, expected.latent(s).mean, rtol=0, atol=1e-9)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_shapes_and_types(batch: tuple[int, ...]) -> None:
    """Outputs are `[*L, N]`, samples `[num, *L, N]`, all of float64."""
    shape = torch.Size(batch)
    kernel = ScaleKernel(MaternKernel(nu=1.5, batch_shape=shape), batch_shape=shape)
    gp = OnlineGP(LegS(12), kernel, GaussianLikelihood(batch_shape=shape))
    x, y = wave(30)
    gp.update(x, y.expand(*batch, 30))
    for f in (gp.latent(x[:7]), gp.predict(x[:7]), gp.reconstruct(x[:7])):
        assert isinstance(f, Normal)
        assert f.mean.shape == f.variance.shape == (*batch, 7)
        assert f.mean.dtype == torch.float64
        assert not f.mean.requires_grad
    joint = gp.latent(x[:7], joint=True)
    assert isinstance(joint, MultivariateNormal)
    assert joint.covariance_matrix.shape == (*batch, 7, 7)
    assert gp.sample(x[:7], 5).shape == (5, *batch, 7)
    assert gp.bound().shape == batch


def test_before_any_update_there_is_the_prior() -> None:
    """Mean zero, the kernel's variance, plus noise in predictions; samples too. Nothing can be reconstructed."""
    gp = model(LegS(5))
    x = wave(6)[0]
    torch.testing.assert_close(gp.latent(x).variance, torch.full((6,), 1.3, dtype=torch.float64))
    torch.testing.assert_close(gp.predict(x).variance, torch.full((6,), 1.4, dtype=torch.float64))
    torch.testing.assert_close(gp.latent(x, joint=True).covariance_matrix, gp.kernel(x).to_dense().detach())
    assert gp.latent(x).mean.abs().max() == 0
    assert gp.sample(x, 3).shape == (3, 6)
    with pytest.raises(RuntimeError, match="before the first update"):
        gp.reconstruct(x)


def test_samples_have_the_moments_of_the_joint_posterior() -> None:
    """Mean and covariance of many samples."""
    gp = model(CosS(20)).update(*wave(30))
    s = torch.tensor([0.2, 0.3, 1.5, 2.9, 4.0])
    samples, f = gp.sample(s, 20000, seed=0), gp.latent(s, joint=True)
    torch.testing.assert_close(samples.mean(0), f.mean, rtol=0, atol=0.04)
    torch.testing.assert_close(samples.T.cov(), f.covariance_matrix, rtol=0, atol=0.04)
    torch.testing.assert_close(f.covariance_matrix.diagonal(), gp.latent(s).variance)


def test_samples_are_reproducible_by_seed() -> None:
    """Equal seeds, equal samples; a seed leaves the global random state alone."""
    gp = model(LegS(10)).update(*wave(30))
    s = torch.linspace(0, 3, 9)
    torch.manual_seed(0)
    one = gp.sample(s, 2, seed=4)
    after = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(1))
    assert torch.equal(one, gp.sample(s, 2, seed=4))
    assert not torch.equal(one, gp.sample(s, 2, seed=5))
    torch.manual_seed(1)
    first = gp.sample(s)
    torch.manual_seed(1)
    assert torch.equal(first, gp.sample(s))


@pytest.mark.parametrize("family", ["LegS", "LegSPath", "Points"])
def test_the_joint_posterior_may_be_singular(family: str) -> None:
    """Repeated inputs, and more inputs than the rank of a feature expansion, are supported."""
    gp = model(FAMILIES[family](10)).update(*wave(30))
    same = gp.latent([1.0, 1.0, 2.0], joint=True).covariance_matrix
    torch.testing.assert_close(same[0], same[1], rtol=0, atol=1e-6)
    dense = torch.linspace(0, 3, 400)
    assert gp.latent(dense, joint=True).covariance_matrix.shape == (400, 400)
    assert torch.isfinite(gp.sample(dense, 2, seed=0)).all()


def test_the_joint_prior_may_be_singular() -> None:
    """This also holds before any update."""
    gp = OnlineGP(LegS(5), rbf(), gaussian())
    assert gp.sample([1.0, 1.0, 1.0], 2).shape == (2, 3)
    assert gp.sample(torch.linspace(0, 1, 200), 2).shape == (2, 200)


def test_outputs_of_a_batch_are_separate_models() -> None:
    """A kernel of batch shape [3] and y `[3, N]` equal three separate models."""
    shape, lengthscales, noises = torch.Size([3]), (0.3, 0.6, 1.0), (0.05, 0.1, 0.3)
    kernel = ScaleKernel(MaternKernel(nu=1.5, batch_shape=shape), batch_shape=shape).double()
    kernel.base_kernel.lengthscale = torch.tensor(lengthscales).reshape(3, 1, 1)
    kernel.outputscale = torch.tensor([1.0, 2.0, 0.5])
    likelihood = GaussianLikelihood(batch_shape=shape).double()
    likelihood.noise = torch.tensor(noises).reshape(3, 1)
    for family in ("LegS", "PerDimPoints", "LegSPath", "FourierFeatures"):
        gp = OnlineGP(FAMILIES[family](15 if family != "FourierFeatures" else 41), kernel, likelihood)
        alone = [
            OnlineGP(FAMILIES[family](gp.inducing.num_inducing), matern(length, var), gaussian(noise))
            for length, var, noise in zip(lengthscales, (1.0, 2.0, 0.5), noises, strict=True)
        ]
        for x, y in tasks(2, 40):
            targets = torch.stack([y, y**2, 1 - y])
            gp.update(x, targets)
            for one, target in zip(alone, targets, strict=True):
                one.update(x, target)
        s = torch.linspace(0, 3.5, 11)
        for i, one in enumerate(alone):
            torch.testing.assert_close(gp.predict(s).mean[i], one.predict(s).mean, rtol=0, atol=1e-4)
            torch.testing.assert_close(gp.predict(s).variance[i], one.predict(s).variance, rtol=0, atol=1e-4)
            torch.testing.assert_close(gp.bound()[i], one.bound(), rtol=0, atol=1e-2)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_predicting_changes_nothing(family: str) -> None:
    """Queries do not change the state."""
    gp = model(FAMILIES[family](8)).update(*wave(30))
    before = {k: v.clone() for k, v in gp.state_dict().items()}
    s = torch.linspace(0, 2.5, 5)
    gp.predict(s), gp.latent(s), gp.bound()
    for name, value in gp.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0, equal_nan=True)


def test_forecasts_fall_back_to_the_prior() -> None:
    """Far beyond the last input, predictions are those of the prior."""
    for family in ("LegS", "CosS", "Points", "FourierFeatures"):
        gp = model(FAMILIES[family](25)).update(*wave(40))
        f = gp.latent([60.0])
        assert abs(float(f.mean)) < 1e-6
        assert float(f.variance) == pytest.approx(1.3, abs=1e-6)


def test_older_points_may_follow_newer_ones() -> None:
    """A late batch that lies within the past is absorbed like any other: the order of tasks hardly matters."""
    (x1, y1), (x2, y2) = tasks(2, 40)
    straight = model(CosS(60)).update(x1, y1).update(x2, y2)
    late = model(CosS(60, origin=0.0)).update(x2, y2).update(x1, y1)
    s = torch.linspace(0, 3, 20)
    torch.testing.assert_close(late.latent(s).mean, straight.latent(s).mean, rtol=0, atol=0.03)


def test_inputs_of_several_dimensions() -> None:
    """Paths and points learn a function of three inputs and remember the first task."""
    rng = torch.Generator().manual_seed(0)
    x = torch.rand(200, 3, generator=rng, dtype=torch.float64)
    x = x[x[:, 0].argsort()]
    y = torch.sin(4 * x).sum(-1) - 2
    for family in (LegSPath(100, ordering="first_dimension"), PivotedPoints(100), Points(100, trainable=False)):
        gp = OnlineGP(family, rbf(0.6, 1.0), gaussian(0.01))
        for i in range(0, 200, 50):
            gp.update(x[i : i + 50], y[i : i + 50])
        first = gp.predict(x[:50]).mean
        assert float(((first - y[:50]) ** 2).mean()) < 0.1 * float(y[:50].var())


def test_several_outputs_learn_from_numpy() -> None:
    """Targets `[*L, N]` are a NumPy array."""
    shape = torch.Size([2])
    kernel = ScaleKernel(RBFKernel(batch_shape=shape), batch_shape=shape)
    x = np.linspace(0, 2 * math.pi, 50)
    y = np.stack([np.sin(x), np.cos(x)])
    gp = OnlineGP(LegS(20), kernel, GaussianLikelihood()).update(x, y)
    assert gp.predict(x).mean.shape == (2, 50)


def test_a_call_is_that_of_a_gpytorch_model() -> None:
    """gp(x) is the joint posterior of f, and likelihood(gp(x)) that of y."""
    x, y = wave(30)
    gp = model(CosS(20)).update(x, y)
    f, predicted = gp(x), gp.predict(x, joint=True)
    torch.testing.assert_close(f.covariance_matrix, gp.latent(x, joint=True).covariance_matrix)
    torch.testing.assert_close(gp.likelihood(f).covariance_matrix, predicted.covariance_matrix)


class Offset(RBFKernel):
    """A kernel with a parameter that has no constrained value."""

    def __init__(self) -> None:
        super().__init__()
        self.register_parameter("raw_offset", torch.nn.Parameter(torch.full((1,), 2.5)))


def test_repr_shows_parameters_of_any_kernel() -> None:
    assert "offset=2.5" in repr(OnlineGP(CosS(20), Offset(), gaussian()))
