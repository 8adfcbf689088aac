"""Quantiles: the distribution function at a quantile is the probability, by sums and by scipy."""

import numpy as np
import pytest
import torch
from gpytorch.likelihoods import LaplaceLikelihood, PoissonLikelihood, StudentTLikelihood
from scipy import stats
from scipy.integrate import quad
from torch.distributions import Bernoulli, Categorical, Laplace, Normal, StudentT

from gpvae.likelihoods import predictive
from gpvae.utils.quantiles import PredictiveMixture, quantile

LEVELS = (0.01, 0.3, 0.5, 0.95)


@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_of_counts_are_those_of_the_sum_over_counts(level: float) -> None:
    mean, var = torch.tensor([-3.0, 0.0, 2.0, 30.0]).double(), torch.tensor([0.1, 1.0, 2.0, 9.0]).double()
    y = predictive(PoissonLikelihood().double(), mean, var)
    cumulative = y.log_prob(torch.arange(200.0).double()[:, None].expand(-1, 4)).exp().cumsum(0)
    np.testing.assert_array_equal(quantile(y, level), (cumulative < level).sum(0))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("likelihood", [StudentTLikelihood, LaplaceLikelihood])
def test_quantiles_of_continuous_mixtures_by_integration(likelihood: type, level: float) -> None:
    """∫ p(f) P(y <= q | f) df is the probability, by adaptive quadrature."""
    mean, var = torch.tensor([-1.0, 4.0]).double(), torch.tensor([0.2, 3.0]).double()
    robust = likelihood().double()
    found = quantile(predictive(robust, mean, var), level)
    if isinstance(robust, LaplaceLikelihood):
        noise = stats.laplace(0, robust.noise.item() ** 0.5)
    else:
        noise = stats.t(robust.deg_free.item(), 0, robust.noise.item() ** 0.5)
    for q, m, v in zip(found.tolist(), mean.tolist(), var.tolist(), strict=True):
        f = stats.norm(m, v**0.5)
        below = quad(lambda s, q=q, f=f: f.pdf(s) * noise.cdf(q - s), *f.interval(1 - 1e-12), points=[m, q])[0]
        assert below == pytest.approx(level, abs=1e-3)


def test_quantiles_of_single_distributions() -> None:
    normal = Normal(torch.tensor([1.0]), torch.tensor([2.0]))
    assert quantile(normal, 0.9).item() == pytest.approx(stats.norm.ppf(0.9, 1, 2), rel=1e-6)
    t = StudentT(torch.tensor([3.5]).double(), 1.0, 2.0)
    assert quantile(t, 0.9).item() == pytest.approx(stats.t.ppf(0.9, 3.5, 1, 2))
    laplace = Laplace(torch.tensor([1.0]).double(), 2.0)
    assert quantile(laplace, 0.1).item() == pytest.approx(stats.laplace.ppf(0.1, 1, 2))
    labels = Bernoulli(torch.tensor([0.2, 0.8]))
    assert quantile(labels, 0.5).tolist() == [0, 1]


def test_a_mixture_gives_several_quantiles_at_once() -> None:
    components = Normal(torch.tensor([[-3.0, 3.0]]).double(), 1.0)
    y = PredictiveMixture(Categorical(torch.tensor([[0.5, 0.5]]).double()), components)
    found = y.icdf(torch.tensor([[0.25], [0.5], [0.75]]).double())
    np.testing.assert_allclose(found[:, 0], [-3, 0, 3], atol=1e-2)
    for probability in (0.0, 1.0, -1.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            quantile(y, probability)
