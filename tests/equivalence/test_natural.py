"""Natural gradients and Adam climb the same bound to the same q(u)."""

import pytest
import torch
from gpytorch.likelihoods import BernoulliLikelihood, Likelihood, NegativeBinomialLikelihood, PoissonLikelihood

from gpvae import OnlineGP
from gpvae.bounds import collapsed_site, expected_log_likelihood, online_elbo
from gpvae.inducing import LegS
from gpvae.natural_gradients import natural_posterior
from gpvae.posteriors import FreeForm
from gpvae.streaming import StreamingPosterior
from tests.toys import gaussian, matern, tasks

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
NOISE = torch.tensor(0.1, dtype=torch.float64)


def in_second_task() -> tuple[StreamingPosterior, torch.Tensor, torch.Tensor]:
    (x1, y1), (x2, y2) = tasks(2, 60)
    kernel, posterior = matern(), StreamingPosterior(LegS(8))
    posterior.begin(kernel, x1)
    with torch.no_grad():
        posterior.end(*collapsed_site(posterior, kernel, NOISE, x1, y1))
    posterior.begin(kernel, x2)
    return posterior, x2, y2


def test_one_full_step_is_exact_for_a_gaussian_likelihood() -> None:
    """Posterior and bound are those of the closed form."""
    posterior, x, y = in_second_task()
    with torch.no_grad():
        frame, past = posterior.task(matern())
        _, site = collapsed_site(posterior, matern(), NOISE, x, y)
        q, bound = natural_posterior(past, gaussian(), *frame.features(x), y, steps=1, lr=1.0)
    again = q.to_site(bound)
    torch.testing.assert_close(bound, site.log_evidence(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(again.h, site.h, rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(again.G, site.G, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("likelihood", [BernoulliLikelihood, PoissonLikelihood, NegativeBinomialLikelihood])
def test_natural_gradients_end_where_the_gradient_vanishes(likelihood: type[Likelihood]) -> None:
    """At the optimum of the online bound of a second task."""
    posterior, x, y = in_second_task()
    targets = (y > 0).double() if likelihood is BernoulliLikelihood else (3 * y).clamp_min(0).round()
    model = likelihood().double().requires_grad_(False)
    with torch.no_grad():
        frame, past = posterior.task(matern())
        a, prior = frame.features(x)
        posterior, bound = natural_posterior(past, model, a, prior, targets, steps=200, tolerance=1e-13)
    q = FreeForm(posterior)
    value = online_elbo(q(), past, expected_log_likelihood(q(), model, a, prior, targets, len(y)))
    torch.testing.assert_close(value, bound)
    value.backward()
    assert q.mean.grad is not None
    assert q.root.grad is not None
    assert q.mean.grad.abs().max() < 1e-3
    assert q.root.grad.abs().max() < 1e-3


def test_natural_gradients_are_no_worse_than_adam() -> None:
    """This holds over two tasks of labels."""
    natural, adam = (OnlineGP(LegS(12), matern(), BernoulliLikelihood()) for _ in range(2))
    for x, y in tasks(2, 60):
        natural.update(x, (y > 0).double())
        adam.update(x, (y > 0).double(), steps=60, lr=0.05)
    assert natural.bound() > adam.bound() - 1e-3


def test_natural_gradients_take_steps_up_to_one() -> None:
    """Longer steps overshoot."""
    posterior, x, y = in_second_task()
    with torch.no_grad():
        frame, past = posterior.task(matern())
        with pytest.raises(ValueError, match="lr=2"):
            natural_posterior(past, gaussian(), *frame.features(x), y, lr=2.0)


@pytest.mark.parametrize("likelihood", [PoissonLikelihood, NegativeBinomialLikelihood])
@pytest.mark.parametrize("largest", [10.0, 1000.0])
def test_large_counts_are_learnt(likelihood: type[Likelihood], largest: float) -> None:
    """No step overshoots: predictions follow the counts, under a prior of their size (the rate is softplus f)."""
    x = torch.linspace(0, 3, 40, dtype=torch.float64)
    y = (largest * (0.55 + 0.45 * torch.sin(2.5 * x))).round()
    gp = OnlineGP(LegS(20), matern(0.8, largest**2), likelihood()).update(x, y)
    prior = OnlineGP(LegS(20), matern(0.8, largest**2), likelihood())
    assert torch.isfinite(gp.bound())
    found, before = (float(model.predict(x).log_prob(y).mean()) for model in (gp, prior))
    assert found > before
    if likelihood is PoissonLikelihood:
        torch.testing.assert_close(gp.predict(x).mean, y, rtol=0.3, atol=0.1 * largest)
