"""Access to gpytorch likelihoods: checks of targets, expected log densities, predictive marginals."""

import math

import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import (
    BernoulliLikelihood,
    FixedNoiseGaussianLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    Likelihood,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
    StudentTLikelihood,
    _OneDimensionalLikelihood,
)
from linear_operator.operators import DiagLinearOperator
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Normal
from torch.nn.functional import softplus

from gpvae.utils.quantiles import PredictiveMixture, with_parameters

COUNTS = (NegativeBinomialLikelihood, PoissonLikelihood)
ROBUST = (StudentTLikelihood, LaplaceLikelihood)
#: Gauss-Hermite nodes for predictive marginals without a closed form.
NUM_NODES = 64


def check_likelihood(likelihood: Likelihood) -> None:
    """Raise unless the likelihood depends on a single function value at each input."""
    if isinstance(likelihood, FixedNoiseGaussianLikelihood):
        raise TypeError(
            "FixedNoiseGaussianLikelihood holds the noise of one training set, but a stream has many batches: use "
            "GaussianLikelihood(), and give the known noise variances of each batch by update(x, y, noise=...)"
        )
    if not isinstance(likelihood, GaussianLikelihood | _OneDimensionalLikelihood):
        raise TypeError(
            f"{type(likelihood).__name__} is not supported; use gpytorch's GaussianLikelihood, StudentTLikelihood or "
            "LaplaceLikelihood (outliers), BernoulliLikelihood, PoissonLikelihood or NegativeBinomialLikelihood"
        )


def batch_shape(likelihood: Likelihood) -> torch.Size:
    """The batch shape `*L` of a likelihood, whose parameters are `[*L, 1]`."""
    shapes = [parameter.shape for parameter in likelihood.parameters()]
    return torch.broadcast_shapes(*(shape[:-1] for shape in shapes if shape[-1:] == (1,)))


def scale_of_function(likelihood: Likelihood, y: Tensor) -> float:
    """Approximate mean square of f for given targets; 1 if the targets do not determine it."""
    power = float((y**2).mean())
    return (
        power if power > 0 and isinstance(base_likelihood(likelihood), (GaussianLikelihood, *ROBUST, *COUNTS)) else 1.0
    )


class PointLikelihood(nn.Module):
    """The likelihoods p(y_n | f_n + m_n)^w_n of the points of a batch, with noise of their own if it is known.

    Args:
        likelihood: A gpytorch likelihood.
        noise: Known noise variances of Gaussian targets, `[*L, N]`; that of the likelihood if not given.
        weights: w, `[*L, N]`; one if not given.
        offset: m, `[*L, N]`; zero if not given.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        *,
        noise: Tensor | None = None,
        weights: Tensor | None = None,
        offset: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.base, self.known_noise, self.weights, self.offset = likelihood, noise, weights, offset

    @property
    def noise(self) -> Tensor:
        """Noise variances, broadcast to `[*L, N]`."""
        return self.base.noise if self.known_noise is None else self.known_noise

    def __getitem__(self, points: Tensor | slice) -> "PointLikelihood":
        """The likelihoods of some of the points."""
        noise, weights, offset = (
            None if value is None else value[..., points] for value in (self.known_noise, self.weights, self.offset)
        )
        return PointLikelihood(self.base, noise=noise, weights=weights, offset=offset)


def base_likelihood(likelihood: Likelihood) -> Likelihood:
    """The gpytorch likelihood itself."""
    return likelihood.base if isinstance(likelihood, PointLikelihood) else likelihood


def some_points(likelihood: Likelihood, points: Tensor | slice) -> Likelihood:
    """The likelihood of some points of a batch."""
    return likelihood[points] if isinstance(likelihood, PointLikelihood) else likelihood


def weights_of(likelihood: Likelihood) -> Tensor | None:
    """The weights of the points of a batch; None if all are one."""
    return likelihood.weights if isinstance(likelihood, PointLikelihood) else None


def is_gaussian(likelihood: Likelihood) -> bool:
    """Whether the posterior has a closed form."""
    return isinstance(base_likelihood(likelihood), GaussianLikelihood)


def check_targets(likelihood: Likelihood, y: Tensor) -> None:
    """Raise unless every target is in the support of the likelihood.

    Raises:
        ValueError: Some target is not; the message has its value and what was expected.
    """
    if isinstance(likelihood, BernoulliLikelihood):
        wrong, expected = (y != 0) & (y != 1), "labels 0 or 1"
    elif isinstance(likelihood, COUNTS):
        wrong, expected = (y < 0) | (y != y.round()), "counts 0, 1, 2, ..."
    else:
        return
    if bool(wrong.any()):
        example = float(y[wrong].flatten()[0])
        raise ValueError(f"{type(likelihood).__name__} expects {expected}; got {example:g} among the targets")


def expected_log_prob(likelihood: Likelihood, y: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    """E log p(y | f) for f ~ N(mean, var), `[..., N]`."""
    if isinstance(likelihood, PointLikelihood):
        mean = mean if likelihood.offset is None else mean + likelihood.offset
        value = expected_log_prob(likelihood.base, y, mean, var)
        return value if likelihood.weights is None else likelihood.weights * value
    f = MultivariateNormal(mean, DiagLinearOperator(var))
    if isinstance(likelihood, COUNTS):
        return likelihood.quadrature(lambda samples: count_log_prob(likelihood, y, samples), f)
    return likelihood.expected_log_prob(y, f)


def predictive(likelihood: Likelihood, mean: Tensor, var: Tensor) -> Distribution:
    """The marginal distribution of y at each point for f ~ N(mean, var).

    Normal and Bernoulli in closed form; otherwise a mixture of the likelihood over Gauss-Hermite nodes of f. `icdf`
    gives its quantiles.
    """
    if is_gaussian(likelihood):
        return Normal(mean, (var + likelihood.noise).sqrt())
    if isinstance(likelihood, BernoulliLikelihood):
        return likelihood.marginal(MultivariateNormal(mean, DiagLinearOperator(var)))
    nodes, weights = np.polynomial.hermite.hermgauss(NUM_NODES)
    z = torch.as_tensor(nodes * math.sqrt(2), dtype=mean.dtype, device=mean.device)
    log_weights = torch.as_tensor(np.log(weights), dtype=mean.dtype, device=mean.device)
    f = mean[..., None] + var.sqrt()[..., None] * z
    return PredictiveMixture(Categorical(logits=log_weights.expand_as(f)), _given_nodes(likelihood, f))


def _given_nodes(likelihood: Likelihood, f: Tensor) -> Distribution:
    """p(y | f) at nodes `[*L, N, S]`; parameters `[*L, 1]` of a likelihood broadcast with `[S, *L, N]`."""
    if not batch_shape(likelihood):
        return likelihood(f)
    return with_parameters(likelihood(f.movedim(-1, 0)), lambda parameter: parameter.movedim(0, -1))


def _log_softplus(f: Tensor) -> Tensor:
    """log log(1 + e^f), which is f itself far below zero."""
    return torch.where(f < -30, f, softplus(f.clamp_min(-30)).log())


def count_log_prob(likelihood: PoissonLikelihood | NegativeBinomialLikelihood, y: Tensor, f: Tensor) -> Tensor:
    """log p(y | f). Poisson: rate softplus(f). Negative binomial: mean softplus(f), k = softplus(f) (1 - p) / p.

    Γ(y + k) / Γ(k) is written with Γ(k) = Γ(k + 1) / k.
    """
    log_rate, rate = _log_softplus(f), softplus(f)
    if isinstance(likelihood, PoissonLikelihood):
        return y * log_rate - rate - torch.lgamma(y + 1)
    p = likelihood.probs.clamp(1e-6, 1 - 1e-6)
    odds = torch.ones_like(p) if likelihood.num_failures_param else (1 - p) / p
    k, log_k = rate * odds, log_rate + odds.log()
    log_total = torch.where(y == 0, log_k, (y + k.clamp_min(torch.finfo(k.dtype).tiny)).log())
    rising = torch.lgamma(y + k + 1) - log_total - torch.lgamma(k + 1) + log_k
    return rising - torch.lgamma(y + 1) + k * torch.log1p(-p) + y * p.log()
