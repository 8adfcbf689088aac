"""Intervals of about 95 %, checked against sums over all counts."""

import numpy as np
import torch
from gpytorch.likelihoods import NegativeBinomialLikelihood
from torch.distributions import NegativeBinomial, Normal, Poisson

from callbacks.figures.interval import two_sd_interval
from gpvae.likelihoods import predictive


def test_interval_of_counts_has_its_probability() -> None:
    likelihood = NegativeBinomialLikelihood().double()
    mean, var = torch.tensor([-2.0, 0.0, 3.0, 40.0]).double(), torch.tensor([0.1, 1.0, 2.0, 9.0]).double()
    many = torch.arange(400.0).double()[:, None]
    cases = [
        Poisson(torch.tensor([1e-9, 0.3, 7.0, 90.0]).double()),
        NegativeBinomial(torch.tensor([0.5, 2.0, 3.0, 9.0]).double(), torch.tensor([0.3, 0.5, 0.9, 0.1]).double()),
        predictive(likelihood, mean, var),
    ]
    for y in cases:
        cumulative = y.log_prob(many.expand(-1, 4)).exp().cumsum(0)
        for end, probability in zip(two_sd_interval(y), (0.02275, 0.97725), strict=True):
            expected = (cumulative < probability).sum(0)
            np.testing.assert_array_equal(end, expected)


def test_interval_of_a_normal_is_two_standard_deviations() -> None:
    lower, upper = two_sd_interval(Normal(torch.tensor([1.0]), torch.tensor([3.0])))
    assert (lower.item(), upper.item()) == (-5.0, 7.0)
