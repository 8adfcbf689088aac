"""Streams of labels and counts: they are learnt and remembered, and predictions are proper distributions."""

import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    Likelihood,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
    SoftmaxLikelihood,
    StudentTLikelihood,
)
from torch import Tensor

from gpvae import OnlineGP
from gpvae.inducing import CosS, LegS, Points
from gpvae.likelihoods import predictive
from tests.toys import matern, rbf

LIKELIHOODS = {
    "bernoulli": BernoulliLikelihood,
    "poisson": PoissonLikelihood,
    "negative binomial": NegativeBinomialLikelihood,
}
COUNTS = ["poisson", "negative binomial"]


def stream(name: str) -> list[tuple[Tensor, Tensor]]:
    """Two tasks of labels or counts that follow a wave."""
    rng = torch.Generator().manual_seed(0)
    x = torch.linspace(0, 4, 120, dtype=torch.float64)
    f = 1.2 * torch.sin(2.5 * x) + 0.5
    if name == "bernoulli":
        y = (torch.rand(120, generator=rng, dtype=torch.float64) < torch.special.ndtr(2 * f)).double()
    else:
        y = torch.poisson(f.exp(), generator=rng)
    return list(zip(x.chunk(2), y.chunk(2), strict=True))


def nlpd(gp: OnlineGP, x: Tensor, y: Tensor) -> float:
    return -float(gp.predict(x).log_prob(y).mean())


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_stream_of_labels_or_counts_learns_and_remembers(name: str) -> None:
    """After both tasks predictions on each are better than the prior's, and the first is not forgotten."""
    gp = OnlineGP(CosS(12), rbf(0.6, 2.0), LIKELIHOODS[name]())
    data = stream(name)
    prior = [nlpd(gp, *task) for task in data]
    gp.update(*data[0], steps=100, lr=0.05, batch_size=None if name == "poisson" else 30)
    learnt = nlpd(gp, *data[0])
    gp.update(*data[1], steps=100, lr=0.05, batch_size=None if name == "poisson" else 30)
    after = [nlpd(gp, *task) for task in data]
    assert learnt < prior[0] - 0.08
    assert after[0] < learnt + 0.08
    assert after[1] < prior[1] - 0.08
    if name == "bernoulli":
        x, y = (torch.cat(parts) for parts in zip(*data, strict=True))
        assert float(((gp.predict(x).mean > 0.5) == (y > 0.5)).double().mean()) > 0.75


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("var", [1e-6, 0.3, 2.0])
def test_predictions_of_counts_are_proper(name: str, var: float) -> None:
    """Probabilities sum to one over the support, and give the mean and variance."""
    mean = torch.tensor([-3.0, 0.0, 1.0], dtype=torch.float64)
    y_hat = predictive(LIKELIHOODS[name]().double(), mean, torch.full_like(mean, var))
    support = torch.arange(0, 20000, dtype=torch.float64)[:, None]
    probabilities = y_hat.log_prob(support).exp().detach()
    torch.testing.assert_close(probabilities.sum(0), torch.ones(3, dtype=torch.float64), rtol=0, atol=2e-3)
    if var < 1:
        torch.testing.assert_close((probabilities * support).sum(0), y_hat.mean.detach(), rtol=5e-3, atol=1e-4)
    assert torch.isfinite(y_hat.mean).all()
    assert torch.isfinite(y_hat.variance).all()
    assert (y_hat.variance > 0).all()


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_log_density_of_predictions_is_the_integral_over_f(name: str) -> None:
    """log p(y) = log E p(y | f), f ~ N(mean, var), by Monte Carlo."""
    likelihood: Likelihood = LIKELIHOODS[name]().double()
    mean, var = torch.tensor([-0.7, 0.2, 1.1], dtype=torch.float64), torch.tensor([0.5, 1.0, 0.1], dtype=torch.float64)
    z = torch.randn(200_000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64)
    with torch.no_grad():
        expected = likelihood(mean + var.sqrt() * z).log_prob(y).exp().mean(0).log()
        found = predictive(likelihood, mean, var).log_prob(y)
    torch.testing.assert_close(found, expected, rtol=0, atol=0.01)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_predictions_can_be_sampled_and_need_no_gradient(name: str) -> None:
    """Samples have shape `[N]` and are in the support."""
    gp = OnlineGP(LegS(12), matern(), LIKELIHOODS[name]())
    gp.update(*stream(name)[0], steps=3)
    y_hat = gp.predict(torch.linspace(0, 2, 5))
    assert y_hat.mean.shape == (5,)
    assert not y_hat.mean.requires_grad
    assert not y_hat.variance.requires_grad
    samples = y_hat.sample((20,))
    assert samples.shape == (20, 5)
    assert (samples >= 0).all()
    assert torch.equal(samples, samples.round())


def test_several_outputs_of_counts() -> None:
    """A batch of outputs with a common likelihood."""
    shape = torch.Size([2])
    kernel = ScaleKernel(RBFKernel(batch_shape=shape), batch_shape=shape)
    gp = OnlineGP(LegS(12), kernel, PoissonLikelihood())
    for x, y in stream("poisson"):
        gp.update(x, torch.stack([y, y.flip(0)]), steps=5, batch_size=7)
    assert gp.predict(x).mean.shape == (2, len(x))
    assert gp.bound().shape == (2,)


def test_hyperparameters_of_other_likelihoods_are_fitted_by_the_bound() -> None:
    """fit_hyperparameters trains kernel and likelihood and absorbs nothing."""
    gp = OnlineGP(LegS(12), rbf(2.5, 0.5), BernoulliLikelihood())
    (x, y), _ = stream("bernoulli")
    gp.fit_hyperparameters(x, y)
    assert not gp.posterior.started
    assert not gp.inducing.started
    assert gp.kernel.base_kernel.lengthscale.item() < 2.3


@pytest.mark.slow
def test_bernoulli_with_trained_points_and_hyperparameters() -> None:
    """Points and hyperparameters are trained together, over two tasks."""
    gp = OnlineGP(Points(8), rbf(1.0, 2.0), BernoulliLikelihood())
    data = stream("bernoulli")
    prior = [nlpd(gp, *task) for task in data]
    for task in data:
        gp.update(*task, steps=150, lr=0.03, train_hyperparameters=True, batch_size=30)
    assert all(nlpd(gp, *task) < before - 0.08 for task, before in zip(data, prior, strict=True))


@pytest.mark.parametrize("likelihood", [StudentTLikelihood, LaplaceLikelihood])
def test_outliers_move_a_robust_likelihood_less(likelihood: type[Likelihood]) -> None:
    """One in ten targets is far off: the function is found better than with a Gaussian likelihood, in both tasks."""
    rng = torch.Generator().manual_seed(0)
    x = torch.linspace(0, 4, 120, dtype=torch.float64)
    f = torch.sin(2.5 * x)
    y = f + 0.1 * torch.randn(120, generator=rng, dtype=torch.float64)
    y[::10] += 5
    errors, inside = {}, {}
    for kind in (likelihood, GaussianLikelihood):
        made = kind().double()
        made.noise = 0.01 if kind is not GaussianLikelihood else 2.0
        gp = OnlineGP(CosS(12), rbf(0.6, 1.0), made)
        for x_task, y_task in zip(x.chunk(2), y.chunk(2), strict=True):
            gp.update(x_task, y_task)
        errors[kind] = float((gp.latent(x).mean - f).square().mean().sqrt())
        predicted = gp.predict(x)
        low, high = (predicted.icdf(torch.tensor(level).double()) for level in (0.05, 0.95))
        inside[kind] = float(((y > low) & (y < high)).double().mean())
    assert errors[likelihood] < 0.15 * errors[GaussianLikelihood]
    assert 0.75 < inside[likelihood] < 0.97


def test_likelihoods_that_are_not_supported_name_those_that_are() -> None:
    with pytest.raises(TypeError, match=r"SoftmaxLikelihood is not supported.*StudentTLikelihood or LaplaceLikelihood"):
        OnlineGP(CosS(5), rbf(), SoftmaxLikelihood(num_features=2, num_classes=2, mixing_weights=False))


@pytest.mark.parametrize("likelihood", [StudentTLikelihood, LaplaceLikelihood])
def test_targets_are_drawn_from_the_likelihood(likelihood: type[Likelihood]) -> None:
    """Also where it has a noise, which is not the variance of its targets."""
    made = likelihood().double()
    made.noise = 1.0
    if isinstance(made, StudentTLikelihood):
        made.deg_free = 6.0
    gp = OnlineGP(CosS(5), rbf(0.6, 0.1), made)
    torch.manual_seed(0)
    drawn, predicted = gp.sample_targets([0.5], 40_000)[:, 0], gp.predict([0.5])
    for probability in (0.01, 0.1, 0.9):
        below = (drawn <= predicted.icdf(torch.tensor(probability))).double().mean()
        assert float(below) == pytest.approx(probability, rel=0.1)


@pytest.mark.parametrize("kind", [StudentTLikelihood, LaplaceLikelihood, NegativeBinomialLikelihood])
@pytest.mark.parametrize("num", [2, 5])
def test_likelihoods_of_several_outputs_have_their_own_parameters(kind: type[Likelihood], num: int) -> None:
    """Predictions of each output are those of a likelihood with its parameters, also where L = N."""
    both = kind(batch_shape=torch.Size([2])).double()
    with torch.no_grad():
        for parameter in both.parameters():
            parameter[1] += 1.0
    mean, var = torch.linspace(0, 1, 2 * num).double().reshape(2, num), torch.full((2, num), 0.3).double()
    predicted = predictive(both, mean, var)
    y = torch.arange(2.0 * num).double().reshape(2, num)
    for output in range(2):
        one = kind().double()
        for parameter, values in zip(one.parameters(), both.parameters(), strict=True):
            parameter.data = values.data[output]
        expected = predictive(one, mean[output], var[output])
        torch.testing.assert_close(predicted.log_prob(y)[output], expected.log_prob(y[output]))
        torch.testing.assert_close(predicted.mean[output], expected.mean)
