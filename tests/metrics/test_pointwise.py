import copy
from itertools import pairwise

import numpy as np
import pytest
import torch
from gpytorch.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from torch.distributions import Bernoulli, Independent, Normal

from gpvae.likelihoods import predictive as marginals
from gpvae.metrics import (
    HIGHER,
    LOWER,
    METRICS,
    NLPD,
    RMSE,
    Accuracy,
    Coverage,
    Target,
    equal_mixture,
    find_metric,
    for_likelihood,
    monte_carlo,
    target_of,
)
from gpvae.metrics.pointwise import PointwiseMean

rng = np.random.default_rng(0)
MEAN, SCALE, TARGET = rng.normal(size=(7, 3)), rng.uniform(0.1, 2, (7, 3)), rng.normal(size=(7, 3))
NORMAL = Normal(torch.tensor(MEAN), torch.tensor(SCALE))


def test_nlpd_of_a_normal_agrees_with_scipy() -> None:
    nlpd = NLPD()
    nlpd.update(NORMAL, torch.tensor(TARGET))
    assert nlpd.compute().item() == pytest.approx(-stats.norm(MEAN, SCALE).logpdf(TARGET).mean(), rel=1e-12)


def test_rmse_agrees_with_numpy() -> None:
    rmse = RMSE()
    rmse.update(NORMAL, torch.tensor(TARGET))
    assert rmse.compute().item() == pytest.approx(np.sqrt(np.mean((TARGET - MEAN) ** 2)), rel=1e-12)


def test_labels() -> None:
    p, label = np.array([0.9, 0.2, 0.6, 0.3, 0.5]), np.array([1.0, 0.0, 0.0, 1.0, 0.0])
    nlpd, accuracy = NLPD(), Accuracy()
    for metric in (nlpd, accuracy):
        metric.update(Bernoulli(torch.tensor(p)), torch.tensor(label))
    assert accuracy.compute().item() == 3 / 5
    assert nlpd.compute().item() == pytest.approx(-stats.bernoulli(p).logpmf(label).mean(), rel=1e-6)


def test_monte_carlo_averages_densities_not_their_logarithms() -> None:
    f = rng.normal(size=(50, 4))
    likelihood = GaussianLikelihood().double()
    y = rng.normal(size=4)
    log_prob = stats.norm(f, np.sqrt(likelihood.noise.item())).logpdf(y)
    mixture = monte_carlo(likelihood, torch.tensor(f))
    expected = special.logsumexp(log_prob, axis=0) - np.log(50)
    np.testing.assert_allclose(mixture.log_prob(torch.tensor(y)).detach(), expected, rtol=1e-10)
    assert abs(expected - log_prob.mean(axis=0)).min() > 1e-3


def test_monte_carlo_of_counts() -> None:
    f, y = rng.normal(size=(50, 4)), np.array([0.0, 1, 2, 5])
    log_prob = stats.poisson(np.log1p(np.exp(f))).logpmf(y)
    mixture = monte_carlo(PoissonLikelihood(), torch.tensor(f))
    expected = special.logsumexp(log_prob, axis=0) - np.log(50)
    np.testing.assert_allclose(mixture.log_prob(torch.tensor(y)).detach(), expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "likelihood"),
    [
        ("gaussian", GaussianLikelihood()),
        ("bernoulli", BernoulliLikelihood()),
        ("poisson", PoissonLikelihood()),
        ("negative_binomial", NegativeBinomialLikelihood()),
    ],
)
def test_every_likelihood_can_be_scored(name: str, likelihood: torch.nn.Module) -> None:
    """By its own metrics, from marginals and from samples of f, with gradients enabled."""
    likelihood = copy.deepcopy(likelihood).double()
    f = torch.randn(200, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    exact = marginals(likelihood, torch.zeros(5).double(), torch.ones(5).double())
    y = torch.tensor([0.0, 1, 0, 1, 1], dtype=torch.float64)
    for metric in for_likelihood(name):
        from_samples, from_marginals = METRICS[metric](), METRICS[metric]()
        from_samples.update(monte_carlo(likelihood, f), y)
        from_marginals.update(exact, y)
        assert from_samples.compute().item() == pytest.approx(from_marginals.compute().item(), abs=0.25)
        assert not from_samples.compute().requires_grad


@given(cuts=st.lists(st.integers(0, 21), max_size=5), ranks=st.integers(1, 4), data=st.data())
@pytest.mark.parametrize("metric", [NLPD, RMSE])
def test_batches_and_processes_do_not_change_the_result(
    metric: type[PointwiseMean], cuts: list[int], ranks: int, data: st.DataObject
) -> None:
    whole = metric()
    whole.update(NORMAL, torch.tensor(TARGET))
    mean, scale, target = (torch.tensor(part).flatten() for part in (MEAN, SCALE, TARGET))
    processes = [metric() for _ in range(ranks)]
    edges = [0, *sorted(cuts), 21]
    for low, high in pairwise(edges):
        chosen = processes[data.draw(st.integers(0, ranks - 1))]
        chosen.update(Normal(mean[low:high], scale[low:high]), target[low:high])
    merged = metric()
    merged.update(Normal(mean[:0], scale[:0]), target[:0])
    merged.total = torch.stack([process.total for process in processes]).sum(0)
    merged.count = torch.stack([process.count for process in processes]).sum(0)
    assert merged.compute().item() == pytest.approx(whole.compute().item(), rel=1e-12)


def test_sums_of_single_precision_scores_are_in_double_precision() -> None:
    """A single-precision sum of 2²⁵ ones stops at 2²⁴."""
    nlpd = NLPD().float()
    nlpd.update(Normal(torch.zeros(1), torch.ones(1)), torch.zeros(1))
    nlpd.total = nlpd.total + 2.0**25
    before = nlpd.total.item()
    nlpd.update(Normal(torch.zeros(1), torch.ones(1)), torch.zeros(1))
    assert nlpd.total.item() - before == pytest.approx(0.918938, rel=1e-5)


@pytest.mark.parametrize("metric", METRICS.values())
def test_shapes_that_would_broadcast_are_refused(metric: type[PointwiseMean]) -> None:
    with pytest.raises(ValueError, match=r"shape \(4, 1\) do not match targets of shape \(4,\)"):
        metric().update(Normal(torch.zeros(4, 1), torch.ones(4, 1)), torch.zeros(4))
    with pytest.raises(ValueError, match="marginal"):
        metric().update(Independent(Normal(torch.zeros(4), torch.ones(4)), 1), torch.zeros(4))


def test_coverage_of_mixtures_and_of_groups() -> None:
    """Nine in ten draws from a mixture lie in its interval, and fewer draws from a wider distribution."""
    torch.manual_seed(0)
    components = Normal(torch.randn(20_000, 5), 0.3)
    mixture = equal_mixture(components)
    coverage = Coverage(num_groups=2)
    coverage.update(mixture, mixture.sample(), torch.zeros(20_000, dtype=torch.int64))
    coverage.update(mixture, 2 * mixture.sample(), torch.ones(20_000, dtype=torch.int64))
    right, wide = coverage.by_group().tolist()
    assert right == pytest.approx(0.9, abs=0.01)
    assert wide < 0.75
    assert coverage.compute().item() == pytest.approx((right + wide) / 2)


def test_names() -> None:
    assert {name: target_of(name) for name in METRICS} == {
        "nlpd": LOWER,
        "rmse": LOWER,
        "crps": LOWER,
        "ece": LOWER,
        "coverage": Target(0.9),
        "accuracy": HIGHER,
    }
    assert target_of("mse") == LOWER
    assert Coverage.higher_is_better is None
    with pytest.raises(ValueError, match="there are nlpd, rmse, crps, ece, coverage, accuracy"):
        find_metric("mse")
    with pytest.raises(ValueError, match="there are gaussian"):
        for_likelihood("student")
