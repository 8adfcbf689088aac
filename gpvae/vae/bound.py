"""The bound of a GP-VAE, term by term."""

import torch
from torch import Tensor

from gpvae.vae import normal
from gpvae.vae.task_posterior import TaskPosterior


def bound(q: TaskPosterior, decoded: tuple[Tensor, ...], y: Tensor, mask: Tensor) -> Tensor:
    """The bound of each series, `[B]`, from the outputs of the decoder for a draw of f.

    If the decoder predicts scales, their log likelihood is added with the mean held fixed.
    """
    return log_likelihood(decoded, y, mask).sum((-2, -1), dtype=torch.float64) + q.prior_terms


def log_likelihood(decoded: tuple[Tensor, ...], y: Tensor, mask: Tensor) -> Tensor:
    """The log likelihood of each observation, `[B, T, V]`, plus that of predicted scales; 0 if masked."""
    mean, noise, *predicted = decoded
    y = torch.where(mask, y, 0.0)
    log_prob = normal.log_prob(y, mean, noise)
    for scale in predicted:
        log_prob = log_prob + normal.log_prob(y, mean.detach(), scale)
    return log_prob * mask
