"""Encoder and decoder started at the principal components of the first task, also called EOFs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gpvae.utils.distributed import sum_over_processes
from gpvae.vae.networks import Decoder, Encoder
from gpvae.vae.task import SeriesTask

#: Variances below this fraction of the mean variance count as zero.
RANK_TOLERANCE = 1e-6
#: Weight of the ridge of least squares, relative to the number of observations.
RIDGE = 1e-6
#: Fraction of the variance of each variable, beside what the components leave, with which its noise starts.
NOISE_SHARE = 0.1


@dataclass(frozen=True)
class PrincipalComponents:
    """y ≈ cycle · (1, clock) + loadings · f, with latents f of variance one.

    Attributes:
        cycle: Mean of each variable, and its share in cosines and sines of the clock, `[V, 1 + 2P]`.
        loadings: `[V, r]`.
        projection: The least-squares inverse of the loadings, `[r, V]`.
        variance: Variance of each variable around its cycle, `[V]`.
        noise: The part of it that the loadings leave, `[V]`.
    """

    cycle: Tensor
    loadings: Tensor
    projection: Tensor
    variance: Tensor
    noise: Tensor

    @classmethod
    def of(cls, task: SeriesTask, number: int) -> "PrincipalComponents":
        """The leading components of the observed values of all processes, the same on each of them.

        Covariances are means over the hours at which both variables are observed.

        Args:
            task: The task.
            number: Largest number r of components; there are fewer if the data have fewer.
        """
        clock = task.vae.clock(task.times)
        inputs = torch.cat([torch.ones_like(task.times)[:, None], clock], -1)
        cycle = fit_cycle(task, inputs)
        size = len(cycle)
        sums = cycle.new_zeros(2, size, size)
        for y, mask in task.chunks():
            rest = (y.double() - inputs @ cycle.mT).where(mask, 0.0).flatten(0, 1)
            seen = mask.double().flatten(0, 1)
            sums += torch.stack([rest.mT @ rest, seen.mT @ seen])
        products, counts = sum_over_processes(sums)
        covariance = products / counts.clamp_min(1)
        values, vectors = torch.linalg.eigh(covariance)
        values, vectors = values.flip(-1)[:number], vectors.flip(-1)[:, :number]
        variance = covariance.diagonal()
        kept = values > RANK_TOLERANCE * variance.mean()
        scales, vectors = values[kept].sqrt(), vectors[:, kept]
        loadings = vectors * scales
        noise = (variance - (loadings**2).sum(-1)).clamp_min(0)
        return cls(cycle, loadings, (vectors / scales).mT, variance, noise)


def fit_cycle(task: SeriesTask, inputs: Tensor) -> Tensor:
    """Least-squares coefficients of each variable on functions of time, `[V, K]`, the same for all series.

    Args:
        task: The task.
        inputs: The functions at the times of the task, `[T, K]`.
    """
    weights = inputs.new_zeros(2, len(task.times), task.y.shape[-1])
    for y, mask in task.chunks():
        weights += torch.stack([mask.double().sum(0), y.double().where(mask, 0.0).sum(0)])
    counts, totals = sum_over_processes(weights)
    products = torch.einsum("tv,tk,tl->vkl", counts, inputs, inputs)
    ridge = RIDGE * counts.sum(0).clamp_min(1)[:, None, None] * torch.eye(inputs.shape[-1]).to(products)
    return torch.linalg.solve(products + ridge, (totals.mT @ inputs)[..., None])[..., 0]


@torch.no_grad()
def start_at_principal_components(encoder: Encoder, decoder: Decoder, task: SeriesTask) -> None:
    """Set the linear maps of residual networks to the components of a task, and the noise to what they leave.

    Latents beyond the number of components keep their random weights in the encoder, and start without effect.

    Args:
        encoder: The encoder.
        decoder: The decoder.
        task: The first task.
    """
    if encoder.linear is None or decoder.linear is None:
        return
    found = PrincipalComponents.of(task, len(encoder.linear.bias))
    number, size = found.projection.shape
    mean, cycle = found.cycle[:, 0], found.cycle[:, 1:]
    encoder.linear.weight[:number, :size] = found.projection.to(encoder.linear.weight)
    encoder.linear.weight[:number, size:] = -(found.projection @ cycle).to(encoder.linear.weight)
    encoder.linear.bias[:number] = -(found.projection @ mean).to(encoder.linear.bias)
    latent_dim = len(encoder.linear.bias)
    decoder.linear.weight.zero_()
    decoder.linear.weight[:, :number] = found.loadings.to(decoder.linear.weight)
    decoder.linear.weight[:, latent_dim:] = cycle.to(decoder.linear.weight)
    decoder.linear.bias.copy_(mean)
    start = found.noise + NOISE_SHARE * found.variance
    if len(decoder.log_scale) == 1:
        start = start.mean(0, keepdim=True)
    decoder.log_scale.copy_(torch.where(start > 0, 0.5 * start.log(), decoder.log_scale))
