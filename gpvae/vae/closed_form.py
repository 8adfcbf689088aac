"""Series as independent Gaussian processes in closed form: the GP-VAE's posterior with linear maps for networks.

Shapes: B series, T times, V variables, L latent dimensions, M inducing variables. In a field all S series are one, with
D = S V variables; otherwise D = V.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor, nn
from torch.distributions import Normal

from gpvae.inducing import ChosenCosines
from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.streaming import Frame
from gpvae.utils.row_store import select_rows
from gpvae.vae.common_posterior import CHUNK_SIZE, CommonFieldPosterior, CommonPosterior, Precisions
from gpvae.vae.field import join_locations
from gpvae.vae.linear_map import LinearMap
from gpvae.vae.observed_times import ObservedTimes
from gpvae.vae.shared_times import TimeFeatures
from gpvae.vae.spread import Spread
from gpvae.vae.widening import Widening


class ClosedFormSeries(nn.Module):
    """y = W f + noise for every series, with f a vector of L independent GPs over time, learnt task by task.

    Latents are observed directly, W⁻¹y = f + noise, so their sites are exact and nothing is sampled or trained by
    gradients. Predictions are Gaussian.

    Args:
        linear_map: The map from latents to variables.
        kernel: A kernel of batch shape `[L]`, over time.
        inducing: The inducing variables.
        num_variables: Number of variables V.
        power: α of power expectation propagation.
        period: A known period, whose phases have variances of their own.
        field: Whether latents are common to all series.
    """

    def __init__(
        self,
        linear_map: LinearMap,
        kernel: Kernel,
        inducing: ChosenCosines,
        *,
        num_variables: int,
        power: float = 0.0,
        period: float | None = None,
        field: bool = False,
    ) -> None:
        super().__init__()
        self.map, self.kernel, self.num_variables, self.field = linear_map, kernel, num_variables, field
        (latent_dim,) = kernel.batch_shape
        self.likelihood = GaussianLikelihood(batch_shape=kernel.batch_shape).double()
        kind = CommonFieldPosterior if field else CommonPosterior
        self.posterior = kind(inducing, latent_dim, power=power)
        self.spread, self.widening = Spread(num_variables, period), Widening()
        self._known: Precisions | None = None

    @property
    def inducing(self) -> ChosenCosines:
        """The inducing variables."""
        family = self.posterior.inducing
        assert isinstance(family, ChosenCosines)
        return family

    @property
    def noise(self) -> Tensor:
        """Noise variance of each latent, `[L, 1]`."""
        return self.likelihood.noise

    def site_of(self, series: Tensor | None = None) -> Site:
        """The past site of some series of this process; of all of them if not given."""
        kept = self.posterior.kept_of(series)
        return self._precisions.site(kept) if self.posterior.started else kept

    @property
    def _precisions(self) -> Precisions:
        """The precisions of the past."""
        if self._known is None:
            frame, _ = self.posterior.present_frame(self.kernel)
            self._known = self._precisions_in(frame, self.posterior.observed)
        return self._known

    def _precisions_in(self, frame: Frame, observed: ObservedTimes) -> Precisions:
        return Precisions(TimeFeatures.of(frame, observed.nodes), observed, self.noise, self.posterior.power)

    def arrange(self, values: Tensor) -> Tensor:
        """Values of series `[S, T, V]` as `[B, T, D]`: all of them one series in a field."""
        return join_locations(values) if self.field else values

    @torch.no_grad()
    def consolidate(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """Learn a task: its sites are added to the past, and its residuals to the spread.

        Args:
            times: `[T]`.
            y: Observations of all series, `[S, T, V]`; only the series of this process are used, some at a time.
            mask: Which of them are observed.
        """
        self.posterior.adapt_to_kernel(self.kernel)
        frame, transport = self.posterior.task_frame(self.kernel)
        features = TimeFeatures.of(frame, times)
        y, mask = self.arrange(y), self.arrange(mask)
        complete, seen = _completeness(mask)
        common = bool(self.posterior.common) and complete
        precision = 1 / (self.noise + self.posterior.power * features.residual)  # [L, T]
        observed = self.posterior.observed_with(times[seen.to(times.device)])
        now = self._precisions_in(frame, observed)

        def encode(series: Tensor) -> tuple[Tensor, Tensor]:
            return self.map.encode(select_rows(y, series), select_rows(mask, series))

        def past_and_task(series: Tensor, latents: Tensor, share: Tensor) -> Site:
            weights = (share[:1, :1] if common else share) * precision
            h, G = features.weighted_sum(weights * latents), features.weighted_outer_sum(weights)
            return transport(self.site_of(series)) + Site(h.new_zeros(h.shape[:-1]), h, G)

        def kept(series: Tensor) -> Site:
            latents, share = encode(series)
            sums = observed.sums(times, share[:1, :1] if common else share)
            weights = self.posterior.weights_with(series, sums)
            return replace(past_and_task(series, latents, share).with_precision(now(weights)), G=weights)

        self.spread.stretch(self.inducing.origin, self.inducing.horizon)
        self._calibrate(features, precision, y, mask, past_and_task)
        self.posterior.end_task(frame, len(y), kept, observed=observed, complete=complete)
        self._known = now
        self.widening.end.copy_(times[-1])

    def _calibrate(
        self,
        features: TimeFeatures,
        precision: Tensor,
        y: Tensor,
        mask: Tensor,
        site_of: Callable[[Tensor, Tensor, Tensor], Site],
    ) -> None:
        """Add the residuals of a task to the spread, each observation predicted without itself.

        Args:
            features: Features of the times of the task.
            precision: Precisions of observations of the latents, `[L, T]`.
            y: Observations, `[B, T, D]`.
            mask: Which of them are observed.
            site_of: Computes the sites of some series, including past and task, with their exact precisions, from the
                series, their latents and the share of each that is observed.
        """
        shape = features.times.shape[0], self.num_variables
        squares, counts = precision.new_zeros(shape), precision.new_zeros(shape)
        for series in self.posterior.own_series(len(y)).split(CHUNK_SIZE):
            values, seen = select_rows(y, series), select_rows(mask, series)
            latents, share = self.map.encode(values, seen)
            posterior = Posterior.from_site(site_of(series, latents, share))
            left_out = leave_one_out(features, posterior, latents, share * precision)
            mean, var = self.map.decode(left_out.mean, left_out.variance + self.noise)
            ratio = torch.where(seen, (values - mean).square() / var, 0.0)
            squares += ratio.unflatten(-1, (-1, self.num_variables)).sum((0, 2))
            counts += seen.unflatten(-1, (-1, self.num_variables)).sum((0, 2))
        self.spread.add(features.times, squares, counts, reduce=not self.field)

    @torch.no_grad()
    def predict(self, times: Tensor, series: Tensor) -> Normal:
        """The predictive distribution of y, `[B, T, V]`, from the tasks learnt so far.

        Args:
            times: `[T]`.
            series: Series of this process, `[B]`.
        """
        frame, transport = self.posterior.present_frame(self.kernel)
        site = transport(self.site_of(None if self.field else series))
        mean, var = TimeFeatures.of(frame, times).marginals(Posterior.from_site(site))
        rows = None
        if self.field:
            rows = (series[:, None] * self.num_variables + torch.arange(self.num_variables).to(series)).flatten()
        mean, var = self.map.decode(mean, (var + self.noise).expand_as(mean), rows)
        if self.field:
            mean, var = (part[0].unflatten(-1, (len(series), -1)).transpose(0, 1) for part in (mean, var))
        spread, beyond = self.spread(times), times[:, None] > self.widening.end
        spread = torch.where(beyond, spread.clamp_min(1.0), spread)  # interpolation errs less than a forecast
        mean, scale = self.widening(times, mean[..., None], (var * spread).sqrt()[..., None])
        return Normal(mean[..., 0], scale[..., 0])

    def quantiles(self, times: Tensor, series: Tensor, num: int) -> Tensor:
        """Quantiles of y at evenly spread probabilities, `[num, B, T, V]`: exact in place of samples.

        Args:
            times: `[T]`.
            series: Series of this process, `[B]`.
            num: Number of quantiles.
        """
        y = self.predict(times, series)
        levels = (torch.arange(1, num + 1, dtype=y.mean.dtype, device=y.mean.device)) / (num + 1)
        return y.mean + y.stddev * torch.special.ndtri(levels)[:, None, None, None]

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._known = None
        super()._load_from_state_dict(*args, **kwargs)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "ClosedFormSeries":
        self._known = None
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]


def _completeness(mask: Tensor) -> tuple[bool, Tensor]:
    """Whether all values `[B, T, D]` are observed, and at which times any of them is, `[T]`."""
    parts = mask.split(CHUNK_SIZE)
    seen = torch.stack([part.any(0).any(-1) for part in parts]).any(0)
    return all(bool(part.all()) for part in parts), seen


def leave_one_out(features: TimeFeatures, q: Posterior, y: Tensor, precision: Tensor) -> Normal:
    """The marginals of f at each time without the observation there, `[B, L, T]`.

    The observation y with precision p is divided out of q(f) = N(m, v): v' = v / (1 - p v), m' = m - p v' (y - m).

    Args:
        features: The features of the times.
        q: The posterior given all observations.
        y: Observations of f, `[B, L, T]`.
        precision: Their precisions, zero where there is none.
    """
    mean, var = features.marginals(q)
    resolved = var - features.residual
    without = resolved / (1 - precision * resolved).clamp_min(1e-9)
    return Normal(mean - precision * without * (y - mean), (without + features.residual).sqrt())
