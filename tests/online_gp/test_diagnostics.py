"""A warning is shown if kernel and noise do not suit the stream, and only then."""

import warnings

import pytest
import torch
from gpytorch.kernels import PeriodicKernel, ScaleKernel
from gpytorch.likelihoods import PoissonLikelihood
from gpytorch.means import ZeroMean
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gpvae import MisfitWarning, OnlineGP, ResolutionWarning
from gpvae.inducing import CosS, InducingVariables, LegS, LegSPath, LegT, PivotedPoints, Points
from gpvae.kernels import covariance
from gpvae.utils.linalg import cholesky
from tests.toys import gaussian, matern, rbf, wave

FAMILIES = {"LegS": LegS, "CosS": CosS, "Points": lambda m: Points(m, trainable=False)}


def from_the_prior(seed: int, num: int) -> tuple[Tensor, Tensor]:
    """Data on [0, 3] from the prior with kernel `matern()` and noise 0.1."""
    rng = torch.Generator().manual_seed(seed)
    x = torch.linspace(0, 3, num, dtype=torch.float64)[:, None]
    f = cholesky(covariance(matern(), x, x)) @ torch.randn(num, generator=rng, dtype=torch.float64)
    return x, (f + 0.1**0.5 * torch.randn(num, generator=rng, dtype=torch.float64)).detach()


@given(
    seed=st.integers(0, 10_000), num=st.integers(12, 90), size=st.integers(1, 40), family=st.sampled_from([*FAMILIES])
)
def test_a_model_that_suits_its_data_is_not_blamed(seed: int, num: int, size: int, family: str) -> None:
    """Even with few variables: the predictive variance includes what they do not resolve."""
    gp = OnlineGP(FAMILIES[family](size), matern(), gaussian())
    x, y = from_the_prior(seed, num)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", MisfitWarning)
        for task in torch.arange(num).split(num // 3):
            gp.update(x[task], y[task])


@pytest.mark.parametrize("inducing", [LegS(30), CosS(30), Points(30, trainable=False)])
def test_a_kernel_that_is_too_smooth_is_pointed_out(inducing: InducingVariables) -> None:
    """The warning says what to do, and points to the caller's line."""
    gp = OnlineGP(inducing, rbf(lengthscale=20.0), gaussian(0.01))
    x, y = wave(60)
    with pytest.warns(MisfitWarning, match=r"\d+ times the predictive variance.* train_always") as caught:
        gp.update(x, torch.sin(7 * x[:, 0]))
    assert {warning.filename for warning in caught} == {__file__}
    torch.testing.assert_close(gp.predict(x).mean.shape, y.shape)


def test_training_the_kernel_on_is_a_way_out() -> None:
    """This is what the warning advises."""
    x = torch.linspace(0, 3, 60, dtype=torch.float64)
    gp = OnlineGP(LegS(30), rbf(lengthscale=3.0), gaussian(0.01))
    gp.update(x, torch.sin(7 * x), steps=300, lr=0.05, train_hyperparameters=True)


def test_other_likelihoods_are_left_alone() -> None:
    """The check is defined for Gaussian likelihoods only."""
    x, _ = wave(20)
    gp = OnlineGP(LegS(8), rbf(lengthscale=20.0), PoissonLikelihood())
    gp.update(x, torch.arange(20.0).remainder(2) * 40)


@pytest.mark.parametrize("inducing", [PivotedPoints(20), Points(20, trainable=False), LegSPath(20)])
def test_too_few_variables_in_many_dimensions_warn(inducing: InducingVariables) -> None:
    """What is left over is judged against the noise, which needs no spectrum and no time."""
    x = torch.rand(300, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with pytest.warns(ResolutionWarning, match=r"leave \d+ nats per point of new data unexplained.*take more"):
        OnlineGP(inducing, rbf(0.5), gaussian(0.01)).update(x, torch.sin(6 * x).sum(-1))
    OnlineGP(PivotedPoints(20), rbf(40.0), gaussian(0.01)).update(x, 0.1 * x.sum(-1))  # a smooth kernel is no reason


def learn_in_parts(gp: OnlineGP, x: Tensor) -> None:
    for part in x.split(90):
        gp.update(part, torch.sin(2 * part))


def test_variables_that_see_only_the_end_of_the_stream_warn() -> None:
    """Polynomials resolve new data at the end of the past before they resolve its middle: transports lose it."""
    x = torch.linspace(0, 30, 900, dtype=torch.float64)
    gp, enough = (OnlineGP(LegS(m), rbf(0.5, 1.0), gaussian(0.001)) for m in (70, 140))
    with pytest.warns(ResolutionWarning, match="lost"):
        learn_in_parts(gp, x)
    assert gp.left_over.unexplained < 0.5 < gp.left_over.lost
    learn_in_parts(enough, x)


def test_a_memory_that_forgets_by_intention_is_not_blamed() -> None:
    x = torch.linspace(0, 30, 900, dtype=torch.float64)
    gp = OnlineGP(LegT(40, window=3.0), rbf(0.5, 1.0), gaussian(0.01))
    learn_in_parts(gp, x)
    assert gp.left_over.lost == 0


def test_a_periodic_kernel_is_judged_like_any_other() -> None:
    kernel = ScaleKernel(PeriodicKernel()).double()
    kernel.base_kernel.period_length, kernel.base_kernel.lengthscale = 1.0, 0.02
    x = torch.linspace(0, 20, 400, dtype=torch.float64)
    with pytest.warns(ResolutionWarning, match="take more"):
        OnlineGP(CosS(5), kernel, gaussian(0.01)).update(x, torch.sin(6 * x))


def test_targets_far_from_the_prior_mean_are_pointed_out() -> None:
    """A constant mean, which is the default, is the remedy."""
    x, y = wave(60)
    with pytest.warns(MisfitWarning, match=r"\d+ prior standard deviations .*ConstantMean"):
        OnlineGP(LegS(30), rbf(), gaussian(), mean=ZeroMean()).update(x, 100 + y)
    OnlineGP(LegS(30), rbf(), gaussian()).update(x, 100 + y)


def test_missing_targets_are_not_far_from_the_prior_mean() -> None:
    """An output of which nothing is observed in a task, and a task whose points count for nothing, do not warn."""
    x, y = wave(60)
    both = 100 + torch.stack([y, -y], -1)
    gp = OnlineGP(CosS(30), matern(), gaussian(), num_outputs=2).update(x[:30], both[:30])
    both[30:, 1] = torch.nan
    gp.update(x[30:], both[30:])
    with pytest.warns(MisfitWarning, match="prior standard deviations"):
        OnlineGP(CosS(30), matern(), gaussian(), num_outputs=2, mean=ZeroMean()).update(x[30:], both[30:])


def test_points_without_weight_do_not_warn() -> None:
    x, y = wave(60)
    OnlineGP(CosS(30), matern(), gaussian()).update(x[:30], y[:30]).update(x[30:], 5 + y[30:], weights=[0.0] * 30)
