"""The Gaussian process variational autoencoder over a stream of tasks (paper, sections 2.4 and 5.3, appendix D.2).

Shapes: B series, T times, V variables, L latent dimensions, M inducing variables.

y_t = decoder(f_t) + noise, f a vector of L independent GPs over time for every series. The encoder's (ỹ, ṽ) act as
observations of f, so q(u) is conjugate: in the site of a series G = Σ a aᵀ/ṽ, h = Σ a ỹ/ṽ, a = L⁻¹ kuf.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, overload

import torch
from gpytorch.kernels import Kernel
from torch import Tensor, nn
from torch.distributions import Normal

from gpvae.bounds import online_elbo
from gpvae.inducing import CosineExpansion, InducingVariables
from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.streaming import Frame
from gpvae.utils.resizable import rename_former_children
from gpvae.utils.row_store import select_rows
from gpvae.vae.field import Field, FieldPosterior
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.networks import Clock, Decoder, Encoder
from gpvae.vae.precision_by_time import ExpansionFieldPosterior, ExpansionPosterior
from gpvae.vae.series_posterior import SeriesPosterior
from gpvae.vae.shared_times import TimeFeatures
from gpvae.vae.widening import Widening

#: Number of draws of the latents that train a predicted scale.
SCALE_DRAWS = 4


class GPVAE(nn.Module):
    """Series with shared networks and kernels, and one streaming posterior for each series and latent dimension.

    Args:
        encoder: The encoder.
        decoder: The decoder.
        kernel: A kernel of batch shape `[L]`, over time.
        inducing: A family of inducing variables.
        periods: Periods of the clock that is an input of encoder and decoder.
        power: α of power expectation propagation, by which past sites are transported.
        shared_precision: One posterior covariance for all series, once a task has ended; see `SeriesPosterior`.
        folder: Folder for the sites of the series; they are kept in memory if not given.
        field: The locations that share latents: the networks, the data of tasks and the posterior are those of one
            series, and predictions those of locations.
    """

    former_children: ClassVar = {"stream": "posterior"}

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        kernel: Kernel,
        inducing: InducingVariables,
        *,
        periods: Sequence[float] = (),
        power: float = 0.0,
        shared_precision: bool | None = False,
        folder: str | None = None,
        field: Field | None = None,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder, self.clock, self.field = encoder, decoder, Clock(periods), field
        self.kernel = kernel.double()
        (latent_dim,) = kernel.batch_shape
        kinds: tuple[type[SeriesPosterior], type[SeriesPosterior]] = SeriesPosterior, FieldPosterior
        if isinstance(inducing, CosineExpansion):
            kinds = ExpansionPosterior, ExpansionFieldPosterior
        self.posterior = kinds[field is not None](
            inducing, latent_dim, power=power, shared_precision=shared_precision, folder=folder
        )
        self.widening = Widening()
        self.register_load_state_dict_pre_hook(rename_former_children)  # type: ignore[no-untyped-call]

    def task(self, times: Tensor, series: Tensor | None = None) -> tuple[TimeFeatures, Site]:
        """Features of times of the present task, and the past site of each series in its frame.

        Args:
            times: `[T]`.
            series: Series of this process; all if not given.
        """
        frame, transport = self.posterior.task_frame(self.kernel)
        return TimeFeatures.of(frame, times), transport(self.posterior.site_of(series))

    def encode(self, times: Tensor, y: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Pseudo-observations of the latents and their precisions, `[B, L, T]`."""
        return self.encoder(y, mask, self.clock(times))

    def decode(self, times: Tensor, f: Tensor, series: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of y, `[..., B, T, V]`, given latents `[..., B, L, T]`.

        Args:
            times: `[T]`.
            f: The latents; those of a field are common to all its locations, `[..., 1, L, T]`.
            series: Locations of a field, `[B]`; if not given, all of them side by side.
        """
        mean, *scales = self.decoder(f, self.clock(times))
        if self.field is None or series is None:
            return mean, scales[-1]
        return self.field.split(mean, series), self.field.split(scales[-1], series)

    def infer(self, features: TimeFeatures, past: Site, mean: Tensor, precision: Tensor) -> Posterior:
        """q(v) of each series and latent dimension, `[B, L]`, given the past and pseudo-observations of the task."""
        return Posterior.from_site(past + pseudo_site(features, mean, precision))

    def noise(self, features: TimeFeatures, series: Tensor, draws: Draws) -> Tensor:
        """The standard normal draws for the bound of some series: one of each, or several if scales are predicted."""
        shape = features.prior.shape
        if self.decoder.scale is None:
            return draws.normal(series, *shape)
        return draws.normal(series, SCALE_DRAWS, *shape).transpose(0, 1)

    def bound(
        self,
        features: TimeFeatures,
        past: Site,
        y: Tensor,
        mask: Tensor,
        noise: Tensor,
        *,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Σ_t E_q log p(y_t | f_t) - KL(q ‖ p) + E_q[log old site] of each series, `[B]`.

        The -log N(f; ỹ, ṽ) of the paper's objective cancels against the one inside its L_H.

        Args:
            features: The features of the times of the observations.
            past: The old sites of these series in the frame of the task, `[B, L]`.
            y: Observations `[B, T, V]`.
            mask: Which of them are observed.
            noise: A standard normal draw `[B, L, T]`, from which f is sampled; or several, `[K, B, L, T]`, of which the
                first is used, and all of them for the predicted scale.
            seen: Which observations the encoder sees; all of them if not given. It is a bound for any choice.
        """
        q = self.infer(features, past, *self.encode(features.times, y, mask if seen is None else seen))
        f, clock = sample(q, features, noise), self.clock(features.times)
        if f.ndim == 3:
            return bound(q, past, self.decoder(f, clock), y, mask)
        mean, noise, scale = self.decoder(f[0], clock)
        others = self.decoder(f[1:].detach(), clock)
        means, scales = torch.cat([mean[None], others[0]]).detach(), torch.cat([scale[None], others[-1]])
        predicted = mixture_log_prob(Normal(means, scales), y, mask)
        return bound(q, past, (mean, noise), y, mask) + predicted.double().sum((-2, -1))

    @torch.no_grad()
    def consolidate(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """End a task: the sites of its data, given by the present encoder, are added to the past.

        Args:
            times: `[T]`.
            y: Observations of all series, `[S, T, V]`; only the series of this process are used, some at a time.
            mask: Which of them are observed.
        """
        self.posterior.adapt_to_kernel(self.kernel)
        frame, transport = self.posterior.task_frame(self.kernel)
        features = TimeFeatures.of(frame, times)

        def encoded(series: Tensor) -> tuple[Tensor, Tensor]:
            return self.encode(times, select_rows(y, series), select_rows(mask, series))

        def past_and_task(series: Tensor) -> Site:
            return transport(self.posterior.site_of(series)) + pseudo_site(features, *encoded(series))

        if isinstance(self.posterior, ExpansionPosterior):
            self.posterior.end_task(
                frame, len(y), past_and_task, times=times, precision=lambda series: encoded(series)[1], mask=mask
            )
        else:
            self.posterior.end_series(frame, len(y), past_and_task, mask=mask)
        self.widening.end.copy_(times[-1])

    @torch.no_grad()
    def latent(self, times: Tensor, series: Tensor | None = None) -> Normal:
        """The posterior marginals of f, `[B, L, T]`, from the tasks learnt so far.

        Args:
            times: `[T]`.
            series: Series of this process; all if not given.
        """
        series = self._series(series)
        frame, transport = self.posterior.present_frame(self.kernel)
        return TimeFeatures.of(frame, times).latent(Posterior.from_site(transport(self.posterior.site_of(series))))

    @torch.no_grad()
    def resolved_share(self, times: Tensor, inducing: InducingVariables | None = None) -> Tensor:
        """The share qff / kff of the prior variance that the inducing variables resolve, mean over times, `[L]`.

        Args:
            times: Times within the stream so far, `[T]`.
            inducing: The inducing variables; those of the posterior if not given.
        """
        frame = self.posterior.present_frame(self.kernel)[0] if inducing is None else Frame.of(inducing, self.kernel)
        features = TimeFeatures.of(frame, times)
        return 1 - (features.residual / features.prior).mean(-1)

    @torch.no_grad()
    def decode_samples(self, times: Tensor, series: Tensor, num_samples: int, draws: Draws) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of y for samples of f, `[B, T, V, S]`: their mixture is the prediction.

        Beyond the last time learnt it is widened, see `Widening`.

        Args:
            times: `[T]`.
            series: Series of this process, `[B]`.
            num_samples: Number of samples.
            draws: The random numbers.
        """
        f = self.latent(times, series)
        noise = draws.normal(self._series(series), num_samples, *f.mean.shape[1:]).transpose(0, 1)
        mean, scale = self.decode(times, f.mean + f.stddev * noise, series)
        return self.widening(times, mean.movedim(0, -1), scale.movedim(0, -1))

    @overload
    def _series(self, locations: None) -> None: ...

    @overload
    def _series(self, locations: Tensor) -> Tensor: ...

    def _series(self, locations: Tensor | None) -> Tensor | None:
        """The series that hold the latents of some locations: the same, or the only one of a field."""
        return locations if self.field is None or locations is None else torch.zeros_like(locations[:1])


def pseudo_site(features: TimeFeatures, mean: Tensor, precision: Tensor) -> Site:
    """The site of pseudo-observations `[B, L, T]`: G = Σ a aᵀ/ṽ, h = Σ a ỹ/ṽ."""
    h = features.weighted_sum(precision * mean)
    return Site(mean.new_zeros(mean.shape[:-1]), h, features.weighted_outer_sum(precision))


def sample(q: Posterior, features: TimeFeatures, noise: Tensor) -> Tensor:
    """A draw of f at each time `[B, L, T]`, from a standard normal draw of that shape."""
    f = features.latent(q)
    return f.mean + f.stddev * noise


def bound(q: Posterior, past: Site, decoded: tuple[Tensor, ...], y: Tensor, mask: Tensor) -> Tensor:
    """The bound of each series, `[B]`, from the outputs of the decoder for a draw of f.

    If the decoder predicts scales, their log likelihood is added, with the mean held: they are trained on the side.
    """
    mean, noise, *predicted = decoded
    y = torch.where(mask, y, 0.0)
    log_prob = Normal(mean, noise).log_prob(y)
    for scale in predicted:
        log_prob = log_prob + Normal(mean.detach(), scale).log_prob(y)
    expected = torch.where(mask, log_prob, 0.0).double().sum((-2, -1))
    return expected + online_elbo(q, past, torch.zeros_like(q.mean[..., 0])).sum(-1)


def mixture_log_prob(components: Normal, y: Tensor, mask: Tensor) -> Tensor:
    """The log density of observations `[B, T, V]` under equal mixtures of K components, `[K, B, T, V]`; 0 if masked.

    This is how predictions are made, so a scale that is trained by it does not count the variance of f twice.
    """
    log_prob = components.log_prob(torch.where(mask, y, 0.0)).logsumexp(0) - math.log(len(components.mean))
    return torch.where(mask, log_prob, 0.0)
