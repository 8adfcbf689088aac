"""Elastic weight consolidation (Kirkpatrick et al. 2017), with a Fisher information that is a sum over samples."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap

from gpvae.sites import Site
from gpvae.utils.distributed import own_items, sum_over_processes
from gpvae.utils.row_store import select_rows
from gpvae.vae.bound import bound, log_likelihood
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.location_field import LocationField
from gpvae.vae.model import GPVAE
from gpvae.vae.shared_times import TimeFeatures
from gpvae.vae.task import SeriesTask
from gpvae.vae.task_posterior import TaskPosterior

#: Number of locations of a field whose gradients are computed at a time.
LOCATIONS_AT_ONCE = 64


class EWC(nn.Module):
    """The penalty ½ Σ_k Σ_i F_ki (θ_i - θ*_ki)² over the tasks k so far, in constant memory.

    A sum of parabolas is a parabola: Σ_k F_k (θ - θ*_k)² = A (θ - m)² + rest. In the running form (Schwarz et al. 2018)
    the anchor is that of the last task, and older information fades by `decay`.

    Args:
        num_parameters: Number of parameters.
        running: The running form.
        decay: Factor by which older information fades with each task, in the running form.
    """

    A: Tensor
    m: Tensor
    rest: Tensor

    def __init__(self, num_parameters: int, running: bool = False, decay: float = 1.0) -> None:
        super().__init__()
        if not 0 <= decay <= 1:
            raise ValueError(f"decay must be between 0 and 1, got {decay}")
        self.running, self.decay = running, decay
        self.register_buffer("A", torch.zeros(num_parameters))
        self.register_buffer("m", torch.zeros(num_parameters))
        self.register_buffer("rest", torch.zeros(()))

    def consolidate(self, parameters: Tensor, fisher: Tensor) -> None:
        """Add a task.

        Args:
            parameters: θ* of the task, flat.
            fisher: F of the task, flat.
        """
        if self.running:
            self.A.mul_(self.decay).add_(fisher)
            self.m.copy_(parameters)
            return
        total = self.A + fisher
        share = torch.where(total > 0, fisher / total.clamp_min(torch.finfo(total.dtype).tiny), 0.0)
        self.rest += (self.A * share * (self.m - parameters) ** 2).sum()
        self.m.lerp_(parameters, share)
        self.A.copy_(total)

    def forward(self, parameters: Tensor) -> Tensor:
        """The penalty at θ, flat."""
        return 0.5 * ((self.A * (parameters - self.m) ** 2).sum() + self.rest)


def flat(modules: Sequence[nn.Module]) -> Tensor:
    """All parameters of some modules in one vector."""
    return torch.cat([p.reshape(-1) for module in modules for p in module.parameters()])


def per_sample_gradients(network: nn.Module, inputs: tuple[Tensor, ...], cotangents: tuple[Tensor, ...]) -> Tensor:
    """Gradients with respect to the parameters of a network, for each sample of a batch, `[B, P]`.

    Args:
        network: A network that returns a tuple of tensors.
        inputs: A batch of its inputs.
        cotangents: Derivatives of each sample's own objective with respect to the outputs for that sample.
    """
    parameters = {name: p.detach() for name, p in network.named_parameters()}

    def gradient(sample: tuple[Tensor, ...], cotangent: tuple[Tensor, ...]) -> Tensor:
        _, pull_back = vjp(  # type: ignore[misc]
            lambda values: functional_call(network, values, sample), parameters
        )
        (gradients,) = pull_back(cotangent)
        return torch.cat([g.reshape(-1) for g in gradients.values()])

    return vmap(gradient)(inputs, cotangents)


def squared_gradients(
    vae: GPVAE, features: TimeFeatures, past: Site, y: Tensor, mask: Tensor, noise: Tensor, series: Tensor
) -> Tensor:
    """Squared gradients of the bound of each series with respect to encoder and decoder, `[B, P]`.

    Args:
        vae: The model.
        features: The features of the times of the observations.
        past: The old sites of these series in the frame of the task, `[B, L]`.
        y: Observations `[B, T, V]`.
        mask: Which of them are observed.
        noise: A standard normal draw `[B, L, T]`, from which f is sampled.
        series: The series, `[B]`.
    """
    location_inputs = vae.location_inputs(features.times, series)
    with torch.enable_grad():
        encoded = tuple(part.detach().requires_grad_() for part in vae.encode(features.times, y, mask, series))
        q = TaskPosterior.of(features, past, *encoded)
        f = q.sample(noise[:, :, None])[0]
        decoded = vae.decoder(f, vae.clock(features.times), *location_inputs)
        value = bound(q, decoded, y, mask).sum()
        by_output = torch.autograd.grad(value, (*encoded, *decoded))
    clock = vae.clock(features.times).expand(len(y), -1, -1)
    encoder = per_sample_gradients(
        vae.encoder, (y, mask, clock, *vae.encoder_location_inputs(features.times, series)), by_output[:2]
    )
    decoder = per_sample_gradients(vae.decoder, (f.detach(), clock, *location_inputs), by_output[2:])
    return torch.cat([encoder, decoder], -1).square()


def fisher(task: SeriesTask, draws: Draws) -> Tensor:
    """The diagonal Fisher information of encoder and decoder, a sum over series of squared gradients, flat.

    Args:
        task: The task; only the series of this process are summed.
        draws: The random numbers.
    """
    parts = []
    for series in task.series.split(task.vae.posterior.chunk_size):
        with torch.no_grad():
            features, past = task.features_and_past(task.times, series)
            features, past = features.to(series.device, torch.float64), past.to(series.device, torch.float64)
        noise = draws.normal(series, *features.prior.shape)
        if isinstance(task.vae.field, LocationField):
            parts.append(field_squared_gradients(task, features, past, noise).sum(0))
            continue
        y, mask = task.observations(series)
        parts.append(squared_gradients(task.vae, features, past, y, mask, noise, series).sum(0))
    return torch.stack(parts).sum(0)


def field_squared_gradients(task: SeriesTask, features: TimeFeatures, past: Site, noise: Tensor) -> Tensor:
    """The same for a field of many locations, `[1, P]`: the decoder has a sample for each of them, the encoder one.

    Args:
        task: The task; each process goes through its own locations.
        features: The features of the times of the task.
        past: The old site of the field in the frame of the task, `[1, L]`.
        noise: A standard normal draw `[1, L, T]`, from which f is sampled.
    """
    vae, (y, mask), clock = task.vae, next(task.chunks()), task.vae.clock(task.times)
    with torch.enable_grad():
        encoded = tuple(part.detach().requires_grad_() for part in vae.encode(task.times, y, mask))
        q = TaskPosterior.of(features, past, *encoded)
        f = q.sample(noise[:, :, None])[0]
        latent = f.detach().requires_grad_()
    by_latent = torch.zeros_like(latent)
    decoder = torch.zeros(sum(p.numel() for p in vae.decoder.parameters()), device=latent.device)
    values, observed = task.values
    for index in own_items(len(values)).split(LOCATIONS_AT_ONCE):
        location_inputs = vae.location_inputs(task.times, index)
        some, seen = (select_rows(part, index).to(latent.device) for part in (values, observed))
        with torch.enable_grad():
            decoded = vae.decoder(latent, clock, *location_inputs)
            value = log_likelihood(decoded, some, seen).sum()
            *by_output, own = torch.autograd.grad(value, (*decoded, latent))
        by_latent += own
        each = latent.detach().expand(len(index), *latent.shape), clock.expand(len(index), *clock.shape)
        inputs, cotangents = (tuple(part[:, None] for part in parts) for parts in (location_inputs, by_output))
        decoder += per_sample_gradients(vae.decoder, (*each, *inputs), cotangents).square().sum(0)
    with torch.enable_grad():
        whole = (f * sum_over_processes(by_latent)).sum() + q.prior_terms.sum()
        by_encoded = torch.autograd.grad(whole, encoded)
    encoder = per_sample_gradients(vae.encoder, (y, mask, clock[None]), by_encoded).square()
    return torch.cat([encoder, sum_over_processes(decoder)[None]], -1)
