"""The Gaussian process variational autoencoder over a stream of tasks (paper, sections 2.4 and 5.3, appendix D.2).

Shapes: B series, T times, V variables, L latent dimensions, M inducing variables.

y_t = decoder(f_t) + noise, f a vector of L independent GPs over time for every series. The encoder's (ỹ, ṽ) act as
observations of f, so q(u) is conjugate: in the site of a series G = Σ a aᵀ/ṽ, h = Σ a ỹ/ṽ, a = L⁻¹ kuf.
"""

from collections.abc import Sequence
from typing import ClassVar, overload

import torch
from gpytorch.kernels import Kernel
from torch import Tensor, nn
from torch.distributions import Normal

from gpvae.inducing import CosineExpansion, InducingVariables
from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.streaming import Frame
from gpvae.utils.devices import moved
from gpvae.utils.resizable import rename_former_children
from gpvae.utils.row_store import select_rows
from gpvae.vae import fused_networks
from gpvae.vae.field import Field, FieldPosterior
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.location_field import LocationField
from gpvae.vae.locations import Locations
from gpvae.vae.networks import Clock, Decoder, Encoder, Replayed
from gpvae.vae.precision_by_time import ExpansionFieldPosterior, ExpansionPosterior
from gpvae.vae.series_posterior import SeriesPosterior
from gpvae.vae.shared_times import TimeFeatures
from gpvae.vae.step_terms import SCALE_DRAWS, step_terms
from gpvae.vae.task_posterior import TaskPosterior
from gpvae.vae.widening import Widening

#: Maximum number of elements of a hidden layer on the CPU when samples are decoded: 4 MB, which fit into caches.
MAX_ELEMENTS = 2**20


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
        locations: The locations of the series, if encoder and decoder have inputs that depend on them.
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
        field: Field | LocationField | None = None,
        locations: Locations | None = None,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder, self.clock, self.field = encoder, decoder, Clock(periods), field
        self.locations = locations
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

    def join(self, y: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The data of a task as its posterior sees them: of each series, `[S, T, V]`, or of one, the field."""
        if isinstance(self.field, LocationField):
            assert self.locations is not None
            return self.field.join(self.locations, y, mask)
        return (y, mask) if self.field is None else (self.field.join(y), self.field.join(mask))

    def location_inputs(self, times: Tensor, series: Tensor | None) -> tuple[Tensor, ...]:
        """Inputs of the decoder that depend on the locations of series: static inputs, and functions of location."""
        if self.locations is None:
            return ()
        assert series is not None
        given: list[Tensor] = [self.locations.inputs(times, series)]
        if isinstance(self.field, LocationField):
            features = self.field.basis(self.locations.positions(series))
            given += [features, self.field.basis.excess(features) + self.locations.excess(series)]
        like = self.decoder.log_scale
        return tuple(moved(part, like.device, like.dtype) for part in given)

    def encode(self, times: Tensor, y: Tensor, mask: Tensor, series: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Pseudo-observations of the latents and their precisions, `[B, L, T]`, in double precision."""
        mean, precision = self.encoder(y, mask, self.clock(times), *self.encoder_location_inputs(times, series))
        return mean.double(), precision.double()

    def encoder_location_inputs(self, times: Tensor, series: Tensor | None) -> tuple[Tensor, ...]:
        """Inputs of the encoder that depend on the locations of series; none for a field, which has all of them."""
        return () if self.field is not None else self.location_inputs(times, series)

    def decode(self, times: Tensor, f: Tensor, series: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of y, `[..., B, T, V]`, given latents `[..., B, L, T]`.

        Args:
            times: `[T]`.
            f: The latents; those of a field are common to all its locations, `[..., 1, L, T]`.
            series: Locations of a field, `[B]`; if not given, all of them side by side.
        """
        mean, *scales = self.decoder(f, self.clock(times), *self.location_inputs(times, series))
        if not isinstance(self.field, Field) or series is None:
            return mean, scales[-1]
        return self.field.split(mean, series), self.field.split(scales[-1], series)

    @property
    def num_draws(self) -> int:
        """The number of draws of the latents for the bound: one, or several if scales are predicted."""
        return 1 if self.decoder.scale is None else SCALE_DRAWS

    def bound(self, features: TimeFeatures, past: Site, y: Tensor, mask: Tensor, noise: Tensor) -> Tensor:
        """The bound of each series, `[B]`, from a single standard normal draw `[B, L, T]`; see `step`."""
        return self.step(features, past, y, mask, noise[:, :, None])[0]

    def step(
        self,
        features: TimeFeatures,
        past: Site,
        y: Tensor,
        mask: Tensor,
        noise: Tensor,
        *,
        seen: Tensor | None = None,
        series: Tensor | None = None,
        sample_of: tuple[Tensor, Tensor, Tensor] | None = None,
        replayed: Replayed | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Σ_t E_q log p(y_t | f_t) - KL(q ‖ p) + E_q[log old site] of each series, and what replay adds to it, `[B]`.

        The -log N(f; ỹ, ṽ) of the paper's objective cancels against the one inside its L_H. All latents are decoded
        at once.

        Args:
            features: The features of the times of the observations.
            past: The old sites of these series in the frame of the task, `[B, L]`.
            y: Observations `[B, T, V]`.
            mask: Which of them are observed.
            noise: Standard normal draws `[B, L, K, T]`, from which f is sampled. The first is used, and all of them for
                the predicted scale.
            seen: Which observations the encoder sees; all of them if not given. It is a bound for any choice.
            series: The series of the observations, or the locations of a sample.
            sample_of: Of a field whose y are coefficients, the observations of some locations, `[B, T, V]`, which of
                them are observed, and how many observations of the whole field each of them stands for.
            replayed: Past latents, and the outputs of the previous decoder for them.

        Returns:
            The bound, and the mean KL between the outputs of the previous decoder and the present one for past latents;
            a field that is sampled has one bound, `[1]`.
        """
        clock = self.clock(features.times, features.a.device)
        location_inputs = self.location_inputs(features.times, series)
        seen = mask if seen is None else seen
        encoded = fused_networks.encode(self.encoder, y, seen, clock, *(location_inputs if self.field is None else ()))
        q = TaskPosterior.of(features, past, *encoded)
        first, draws = q.sample(noise)
        y, mask, weight = (y, mask, None) if sample_of is None else sample_of
        past_latents, before = (None, None) if replayed is None else ((replayed.f, replayed.given), replayed.target)
        decoded = fused_networks.decode_draws(self.decoder, past_latents, first, (draws, (clock, *location_inputs)))
        log_likelihood, divergence = step_terms(*decoded, y, mask, before, q.prior_terms.dtype)
        if weight is not None:
            log_likelihood = weight * log_likelihood.sum(0, keepdim=True)
        return log_likelihood + q.prior_terms, divergence

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
            return self.encode(times, select_rows(y, series), select_rows(mask, series), series)

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
        q = Posterior.from_site(transport(self.posterior.site_of(series)))
        mean, var = TimeFeatures.of(frame, times).marginals(q)
        return Normal(mean, var.sqrt())

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
        f, own = self.latent(times, series), self._series(series)
        size = self._chunk_size(num_samples * len(times))
        parts = []
        for start in range(0, len(own), size):
            rows = slice(start, start + size)
            noise = draws.normal(own[rows], num_samples, *f.mean.shape[1:]).transpose(0, 1)
            samples = f.mean[rows] + f.stddev[rows] * noise
            parts.append(self._decode_in_chunks(times, samples, series[rows] if self.field is None else series))
        mean, scale = (torch.cat(part) for part in zip(*parts, strict=True))
        return self.widening(times, mean, scale)

    def _decode_in_chunks(self, times: Tensor, samples: Tensor, series: Tensor) -> tuple[Tensor, ...]:
        """Mean and standard deviation of y for samples of latents `[S, B, L, T]`, `[B, T, V, S]`."""
        chunks = samples.split(self._chunk_size(len(series) * len(times)))
        parts = (self.decode(times, some, series) for some in chunks)
        return tuple(torch.cat(part).movedim(0, -1) for part in zip(*parts, strict=True))

    def _chunk_size(self, num_rows: int) -> int:
        """How many times so many rows the decoder is given at once."""
        on_host = self.decoder.log_scale.device.type == "cpu"  # where caches are small
        return max(1, (1 if on_host else 64) * MAX_ELEMENTS // (num_rows * self.decoder.num_hidden))

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
