"""The bound of a GP-VAE, term by term."""

import math

import torch
from torch import Tensor

from gpvae.vae import normal
from gpvae.vae.task_posterior import TaskPosterior


def bound(
    q: TaskPosterior,
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
    return total(log_likelihood(decoded, y, mask), weight) + q.prior_terms


def log_likelihood(decoded: tuple[Tensor, ...], y: Tensor, mask: Tensor) -> Tensor:
    """The log likelihood of each observation, `[B, T, V]`, plus that of predicted scales; 0 if masked."""
    mean, noise, *predicted = decoded
    y = torch.where(mask, y, 0.0)
    log_prob = normal.log_prob(y, mean, noise)
    for scale in predicted:
        log_prob = log_prob + normal.log_prob(y, mean.detach(), scale)
    return log_prob * mask


def total(log_prob: Tensor, weight: Tensor | None) -> Tensor:
    """The sum over times and variables of each series, `[B]`; with a weight, weighted and over series too, `[1]`."""
    by_series = log_prob.sum((-2, -1), dtype=torch.float64)
    return by_series if weight is None else weight * by_series.sum(0, keepdim=True)


def mixture_log_prob(means: Tensor, scales: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """The log density of observations `[B, T, V]` under equal mixtures of K components, `[K, B, T, V]`; 0 if masked.

    Predictions are such mixtures, so a scale that is trained on this density does not count the variance of f twice.
    """
    log_prob = normal.log_prob(torch.where(mask, y, 0.0).expand_as(means), means, scales).logsumexp(0)
    return (log_prob - math.log(len(means))) * mask
