"""Everyday use of a stream."""

import pytest
import torch
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood, PoissonLikelihood

from gpvae import OnlineGP
from gpvae.inducing import CosS, FourierFeatures, LagT, LegS, LegSPath, LegSRecurrence, PivotedPoints, Points
from gpvae.inducing.base import InducingVariables
from gpvae.kernels import UnsupportedKernelError, covariance
from gpvae.natural_gradients import PointSites, natural_posterior
from gpvae.sites import Site
from gpvae.streaming import Frame
from tests.toys import matern, rbf

X = torch.linspace(0, 10, 300, dtype=torch.float64)
Y = torch.sin(3 * X)


@pytest.mark.parametrize("family", [LegS(40), CosS(40), PivotedPoints(40)], ids=lambda f: type(f).__name__)
def test_single_points_one_by_one_are_as_good_as_one_batch(family: InducingVariables) -> None:
    """Over 150 updates, predictions agree to within the noise."""
    gp = OnlineGP(family, rbf(0.7), GaussianLikelihood())
    gp.likelihood.noise = 0.01
    for x, y in zip(X[::2], Y[::2], strict=True):
        gp.update(x[None], y[None])
    assert (gp.latent(X).mean - Y).abs().max() < 0.05


def test_small_batches_do_not_wash_points_away() -> None:
    """A task of n inputs replaces at most n points."""
    gp = OnlineGP(Points(40, trainable=False), rbf(0.7), GaussianLikelihood())
    gp.update(X[:200], Y[:200])
    before = gp.inducing.Z.clone()
    gp.update(X[200:202], Y[200:202])
    assert sum(bool((before == z).any()) for z in gp.inducing.Z) >= 38


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_sparse_fit_does_not_depend_on_the_unit_of_time(unit: float) -> None:
    """It does not depend on the initial lengthscale either."""
    kernel = ScaleKernel(RBFKernel())
    gp = OnlineGP(LegS(60), kernel, GaussianLikelihood())
    noisy = Y + 0.1 * torch.randn(len(X), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gp.fit_hyperparameters(X * unit, noisy, max_exact=10)
    assert 0.3 < kernel.base_kernel.lengthscale.item() / unit < 1.5
    assert gp.likelihood.noise.item() == pytest.approx(0.01, rel=0.3)


@pytest.mark.parametrize(
    "kernel",
    [
        ScaleKernel(RBFKernel(), active_dims=(1,)),
        ScaleKernel(RBFKernel(active_dims=(1,))),
        ScaleKernel(RBFKernel(active_dims=(0,))) + MaternKernel(nu=1.5, active_dims=(1,)),
        ScaleKernel(RBFKernel(batch_shape=torch.Size([2])), batch_shape=torch.Size([2])) + RBFKernel(),
    ],
    ids=["outer", "inner", "sum", "batch"],
)
def test_features_look_at_the_dimensions_that_the_kernel_looks_at(kernel: ScaleKernel) -> None:
    kernel = kernel.double().requires_grad_(False)
    x = torch.rand(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    family = LegSPath(4, num_frequencies=4096).advance(kernel, x)
    torch.testing.assert_close(family.kff(kernel, x), covariance(kernel, x, x), rtol=0, atol=0.05)


def test_dimensions_chosen_for_a_whole_sum_are_refused() -> None:
    kernel = ScaleKernel(RBFKernel() + MaternKernel(), active_dims=(1,)).double()
    with pytest.raises(UnsupportedKernelError, match="on the terms of a sum"):
        LegSPath(4).advance(kernel, torch.zeros(3, 2, dtype=torch.float64))


def test_fourier_features_serve_a_batch_of_scales() -> None:
    shape = torch.Size([2])
    kernel = ScaleKernel(MaternKernel(nu=1.5), batch_shape=shape)
    kernel.outputscale = torch.tensor([1.0, 4.0])
    gp = OnlineGP(FourierFeatures(21, -2, 12), kernel, GaussianLikelihood())
    gp.update(X[:50], torch.stack([Y[:50], 2 * Y[:50]]))
    assert gp.predict(X[:7]).mean.shape == (2, 7)


def test_trained_hyperparameters_of_counts_end_with_the_best_q() -> None:
    """Natural gradients find nothing better for the hyperparameters that training ends with."""
    gp = OnlineGP(LegS(15), rbf(1.0, 2.0), PoissonLikelihood())
    y = torch.poisson(5 + 3 * Y[:100], generator=torch.Generator().manual_seed(0))
    gp.update(X[:100], y, train_hyperparameters=True, steps=60, lr=0.05)
    trained = gp.bound()
    again = OnlineGP(LegS(15), gp.kernel, gp.likelihood).update(X[:100], y)
    torch.testing.assert_close(trained, again.bound(), rtol=1e-6, atol=0)
    assert trained > OnlineGP(LegS(15), rbf(1.0, 2.0), PoissonLikelihood()).update(X[:100], y).bound()


def test_fourier_features_go_on_after_training_with_minibatches() -> None:
    """Later tasks require the kernel that the first task ended with."""
    gp = OnlineGP(FourierFeatures(15, -2, 12), matern(4.0), PoissonLikelihood())
    y = torch.poisson(5 + 3 * Y, generator=torch.Generator().manual_seed(0))
    gp.update(X[:60], y[:60], train_hyperparameters=True, steps=10, batch_size=20)
    gp.update(X[60:120], y[60:120])
    assert torch.isfinite(gp.bound())


def test_natural_gradients_go_on_from_the_sites_they_are_given() -> None:
    kernel, y = rbf(), torch.ones(10, dtype=torch.float64)
    frame = Frame.of(LegS(6).advance(kernel, X[:10, None]), kernel)
    with torch.no_grad():
        a, prior = frame.features(X[:10, None])
        past, sites = Site.zero(frame.L), PointSites.zero(y)
        _, first = natural_posterior(past, PoissonLikelihood(), a, prior, y, sites=sites)
        _, second = natural_posterior(past, PoissonLikelihood(), a, prior, y, steps=1, sites=sites)
    torch.testing.assert_close(first, second)


@pytest.mark.parametrize(
    ("saved", "built"),
    [
        (LegSRecurrence(5, dt=0.1), LegSRecurrence(5, dt=0.05)),
        (LegSPath(5, num_frequencies=16), LegSPath(5, num_frequencies=32)),
        (LegSPath(5), LegSPath(5, stride=2)),
        (LegS(5), CosS(5)),
        (LegS(5), LegS(6)),
    ],
    ids=["dt", "frequencies", "stride", "family", "size"],
)
def test_a_state_of_another_configuration_is_refused_and_nothing_changes(
    saved: InducingVariables, built: InducingVariables
) -> None:
    source = OnlineGP(saved, matern(variance=7.0), GaussianLikelihood()).update([0.0, 1.0], [1.0, 0.0])
    target = OnlineGP(built, matern(), GaussianLikelihood())
    with pytest.raises(ValueError, match="the state was not saved from"):
        target.load_state_dict(source.state_dict())
    assert target.kernel.outputscale.item() == pytest.approx(1.3)
    assert not target.posterior.started


def test_a_state_of_another_power_is_refused() -> None:
    source, target = (OnlineGP(LegS(5), matern(), GaussianLikelihood(), power=power) for power in (0.0, 0.5))
    with pytest.raises(ValueError, match=r"power=0\.5"):
        target.load_state_dict(source.state_dict())


def test_the_bound_follows_the_kernel() -> None:
    gp = OnlineGP(LegS(20), rbf(0.7), GaussianLikelihood()).update(X[:100], Y[:100])
    before = gp.bound()
    gp.kernel.base_kernel.lengthscale = 3.0
    assert gp.bound() < before


def test_a_window_hands_over_no_more_than_the_stream() -> None:
    """LagT extends far beyond the first input; the family that replaces it starts at the first input."""
    gp = OnlineGP(LagT(10), matern(5.0), GaussianLikelihood()).update(X[:60], Y[:60])
    assert gp.replace_inducing(LegS(20)).inducing.origin == 0


def test_only_a_family_can_replace_a_family() -> None:
    gp = OnlineGP(LegS(5), matern(), GaussianLikelihood()).update(X[:6], Y[:6])
    for wrong, error in (("auto", TypeError), (LegS, TypeError)):
        with pytest.raises(error, match="inducing must be a family"):
            gp.replace_inducing(wrong)


def test_half_precision_is_refused_in_words() -> None:
    gp = OnlineGP(LegS(5), rbf(), GaussianLikelihood()).half()
    with pytest.raises(TypeError, match="float64 or float32"):
        gp.update(X[:6].half(), Y[:6].half())


@pytest.mark.filterwarnings("error")
def test_a_warning_turned_error_leaves_the_model_as_it_was() -> None:
    gp = OnlineGP(LegS(3), rbf(0.1), GaussianLikelihood())
    with pytest.raises(UserWarning, match="too few"):
        gp.update(X, Y)
    assert not gp.posterior.started


def test_after_a_huge_gap_points_are_advised() -> None:
    gp = OnlineGP(LegS(10), rbf(0.5), GaussianLikelihood()).update(X[:10], Y[:10])
    with pytest.warns(UserWarning, match="points, or a memory with a window"):
        gp.update([1e6], [0.0])
