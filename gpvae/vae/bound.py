"""The bound of a GP-VAE, term by term."""

import math

import torch
from torch import Tensor
from torch.distributions import Normal

from gpvae.bounds import online_elbo
from gpvae.posteriors import Posterior
from gpvae.sites import Site


def bound(
    q: Posterior,
    past: Site,
    decoded: tuple[Tensor, ...],
    y: Tensor,
    mask: Tensor,
    weight: Tensor | None = None,
) -> Tensor:
    """The bound of each series, `[B]`, from the outputs of the decoder for a draw of f.

    If the decoder predicts scales, their log likelihood is added with the mean held fixed, so they are trained on the
    side. With a weight, the series are a sample of the locations of one field, and the bound of the field is estimated,
    `[1]`.
    """
    return total(log_likelihood(decoded, y, mask), weight) + prior_terms(q, past)


def log_likelihood(decoded: tuple[Tensor, ...], y: Tensor, mask: Tensor) -> Tensor:
    """The log likelihood of each observation, `[B, T, V]`, plus that of predicted scales; 0 if masked."""
    mean, noise, *predicted = decoded
    y = torch.where(mask, y, 0.0)
    log_prob = Normal(mean, noise).log_prob(y)
    for scale in predicted:
        log_prob = log_prob + Normal(mean.detach(), scale).log_prob(y)
    return torch.where(mask, log_prob, 0.0)


def prior_terms(q: Posterior, past: Site) -> Tensor:
    """-KL(q ‖ p) + E_q[log old site] of each series, `[B]`."""
    return online_elbo(q, past, torch.zeros_like(q.mean[..., 0])).sum(-1)


def total(log_prob: Tensor, weight: Tensor | None) -> Tensor:
    """The sum over times and variables of each series, `[B]`; with a weight, weighted and over series too, `[1]`."""
    by_series = log_prob.double().sum((-2, -1))
    return by_series if weight is None else weight * by_series.sum(0, keepdim=True)


def mixture_log_prob(components: Normal, y: Tensor, mask: Tensor) -> Tensor:
    """The log density of observations `[B, T, V]` under equal mixtures of K components, `[K, B, T, V]`; 0 if masked.

    Predictions are such mixtures, so a scale that is trained on this density does not count the variance of f twice.
    """
    log_prob = components.log_prob(torch.where(mask, y, 0.0)).logsumexp(0) - math.log(len(components.mean))
    return torch.where(mask, log_prob, 0.0)
