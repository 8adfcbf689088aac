"""Encoder and decoder started at the principal components of the first task, also called EOFs."""

from dataclasses import dataclass

import torch
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor

from gpvae.utils.distributed import of_first_process, sum_over_processes
from gpvae.utils.row_store import select_rows
from gpvae.vae.kernel_fit import MAX_SERIES, fit_series
from gpvae.vae.location_field import LocationField
from gpvae.vae.model import GPVAE
from gpvae.vae.networks import Encoder
from gpvae.vae.task import TaskData
from gpvae.vae.wave_kernel import WaveKernel

#: Variances below this fraction of the mean variance count as zero.
RANK_TOLERANCE = 1e-6
#: Fraction of the variance of each variable, beside what the components leave, with which its noise starts.
NOISE_SHARE = 0.1


@dataclass(frozen=True)
class PrincipalComponents:
    """y ≈ mean + loadings f, with latents f of variance one.

    Attributes:
        mean: Mean of each variable, `[V]`.
        loadings: `[V, r]`.
        projection: The least-squares inverse of the loadings, `[r, V]`.
        noise: Variance of each variable that the loadings leave, `[V]`.
        variance: Variance of each variable, `[V]`.
    """

    mean: Tensor
    loadings: Tensor
    projection: Tensor
    noise: Tensor
    variance: Tensor

    @classmethod
    def of(cls, task: TaskData, number: int) -> "PrincipalComponents":
        """The leading components of the observed values of all processes, the same on each of them.

        Covariances are means over the hours at which both variables are observed.

        Args:
            task: The task.
            number: Largest number r of components; there are fewer if the data have fewer.
        """
        size = task.y.shape[-1]
        zeros = torch.zeros(size, dtype=torch.float64, device=task.series.device)
        total, count = zeros, zeros
        for y, mask in task.chunks():
            total = total + y.where(mask, 0.0).double().sum((0, 1))
            count = count + mask.sum((0, 1))
        total, count = sum_over_processes(torch.stack([total, count]))
        mean = total / count.clamp_min(1)
        products = zeros.new_zeros(2, size, size)
        for y, mask in task.chunks():
            centred = (y.double() - mean).where(mask, 0.0).flatten(0, 1)
            seen = mask.double().flatten(0, 1)
            products += torch.stack([centred.mT @ centred, seen.mT @ seen])
        products, counts = sum_over_processes(products)
        covariance = products / counts.clamp_min(1)
        values, vectors = torch.linalg.eigh(covariance)
        values, vectors = values.flip(-1)[:number], vectors.flip(-1)[:, :number]
        kept = values > RANK_TOLERANCE * covariance.diagonal().mean()
        scales, vectors = values[kept].sqrt(), vectors[:, kept]
        loadings = vectors * scales
        variance = covariance.diagonal()
        noise = (variance - (loadings**2).sum(-1)).clamp_min(0)
        return cls(mean, loadings, (vectors / scales).mT, noise, variance)


@torch.no_grad()
def start_at_principal_components(task: TaskData) -> None:
    """Set the linear maps of residual networks to the components of a task, and the noise to what they leave.

    Latents beyond the number of components keep their random weights in the encoder, and start without effect.

    Args:
        task: The first task.
    """
    encoder, decoder, field = task.vae.encoder, task.vae.decoder, task.vae.field
    if encoder.linear is None or decoder.linear is None:
        return
    found = PrincipalComponents.of(task, encoder.linear.out_features)
    number = len(found.projection)
    encoder.linear.weight[:number] = found.projection.to(encoder.linear.weight)
    encoder.linear.bias[:number] = -(found.projection @ found.mean).to(encoder.linear.bias)
    decoder.linear.weight.zero_()
    decoder.linear.weight[:, :number] = found.loadings.to(decoder.linear.weight)
    decoder.linear.bias.copy_(found.mean)
    start = found.noise + NOISE_SHARE * found.variance
    if isinstance(field, LocationField):
        explained = found.loadings.square().sum(-1).unflatten(0, (-1, field.num_variables)).sum(0)
        means = found.mean.square().unflatten(0, (-1, field.num_variables)).sum(0)
        start = (field.power - means - explained).clamp_min(0) + NOISE_SHARE * (field.power - means).clamp_min(0)
    if len(decoder.log_scale) == 1:
        start = start.mean(0, keepdim=True)
    decoder.log_scale.copy_(torch.where(start > 0, 0.5 * start.log(), decoder.log_scale))


def start_model(vae: GPVAE, times: Tensor, y: Tensor, mask: Tensor) -> None:
    """Start networks, and the kernel if it has waves, at the principal components of the first task.

    Args:
        vae: The model.
        times: `[T]`.
        y: Observations `[S, T, V]`.
        mask: Which of them are observed, `[S, T, V]`.
    """
    task = TaskData(vae, times, y, mask)
    start_at_principal_components(task)
    if isinstance(vae.kernel, WaveKernel):
        fit_waves(vae.kernel, vae.encoder, task)


def fit_waves(kernel: WaveKernel, encoder: Encoder, task: TaskData) -> None:
    """Fit a kernel with waves to the outputs of an encoder's linear map for a task: a GP with noise for each latent.

    All processes end with the kernel of the first. Latents beyond the number of principal components are noise.

    Args:
        kernel: The kernel of the latents.
        encoder: An encoder that starts at the principal components of the task.
        task: The first task.
    """
    assert encoder.linear is not None
    some = torch.linspace(0, len(task.y) - 1, min(len(task.y), MAX_SERIES)).round().long()
    y, mask = (select_rows(part, some).to(task.times.device) for part in (task.y, task.mask))
    with torch.no_grad():
        scores = encoder.linear(y.where(mask, 0.0)).double().mT
    observed = mask.double().mean(-1)[:, None].expand_as(scores)
    likelihood = GaussianLikelihood(batch_shape=kernel.batch_shape).double().to(scores.device)
    with torch.enable_grad():
        fit_series(kernel, likelihood, task.times, scores, observed)
    for parameter in kernel.parameters():
        parameter.data.copy_(of_first_process(parameter.data))
