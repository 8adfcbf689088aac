"""The task that a GP-VAE learns: its data, quantities that are fixed during the task, and checks."""

from collections.abc import Iterable, Iterator
from functools import cached_property

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.sites import Site
from gpvae.utils.distributed import sum_over_processes
from gpvae.utils.row_store import select_rows
from gpvae.vae.centred_site import CentredSite
from gpvae.vae.keyed_noise import check_draws
from gpvae.vae.location_field import LocationField
from gpvae.vae.model import GPVAE
from gpvae.vae.shared_times import TimeFeatures

#: Number of series whose observations are read at a time.
CHUNK_SIZE = 1024
#: Maximum number of elements of the precisions of a part of a step on the CPU, so that it fits into caches.
MAX_ELEMENTS = 2**21
#: Largest absolute value in a task whose steps may be less precise than float64; scaled data are well within it.
MAX_VALUE = 100.0


class TaskData:
    """The data of a task; those of a field are one series, with all locations side by side.

    Args:
        vae: The model.
        times: `[T]`.
        y: Observations `[S, T, V]`.
        mask: Which of them are observed, `[S, T, V]`.

    Attributes:
        values: Observations and mask as they were given.
    """

    def __init__(self, vae: GPVAE, times: Tensor, y: Tensor, mask: Tensor) -> None:
        self.vae, self.times, self.values = vae, times.to(vae.posterior.L.device), (y, mask)
        self.y, self.mask = vae.join(y, mask)
        self.series = vae.posterior.own_series(len(self.y))

    def observations(self, series: Tensor) -> tuple[Tensor, Tensor]:
        """Observations and mask of some series of this process, `[B, T, V]`."""
        return select_rows(self.y, series), select_rows(self.mask, series)

    def chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Observations and mask of the series of this process, for some series at a time."""
        return map(self.observations, self.series.split(CHUNK_SIZE))


class SeriesTask(TaskData):
    """The data of a task that has begun, and the past sites of all series, transported to its frame.

    Args:
        vae: The model, its inducing variables advanced to the task.
        times: `[T]`.
        y: Observations `[S, T, V]`.
        mask: Which of them are observed, `[S, T, V]`.
        fixed: Neither kernel nor inducing variables are trained, so features and past are computed once.
        dtype: Floating point type of the sums over times, if features are fixed and the values of all processes at most
            `MAX_VALUE`; else float64.
        device: Device of the steps, unless their sums are in float64; that of the model if not given. On another device
            than that of the model, all of a step is in this floating point type.

    Attributes:
        device: Device of the steps.
        kernel: The kernel as it was when the task began.
        frame: The frame of the task as it began.
        transport: The transport of past sites to this frame.
    """

    @torch.no_grad()
    def __init__(
        self,
        vae: GPVAE,
        times: Tensor,
        y: Tensor,
        mask: Tensor,
        *,
        fixed: bool,
        dtype: torch.dtype = torch.float64,
        device: torch.device | None = None,
    ) -> None:
        super().__init__(vae, times, y, mask)
        self.dtype = dtype if fixed and not self.exceeds(MAX_VALUE) else torch.float64
        home = self.times.device
        self.device = home if device is None or self.dtype == torch.float64 else device
        self.kernel, inducing = vae.kernel, vae.posterior.inducing
        if not fixed and vae.posterior.started:
            self.kernel, inducing = vae.posterior.at_begin(vae.kernel, self.times[:, None])
        self.frame, self.transport = vae.posterior.task_frame(self.kernel, inducing)
        self._fixed = self._condensed() if fixed else None

    def _condensed(self) -> tuple[TimeFeatures, Site]:
        """The condensed features of the task's times, and the past of all series projected accordingly."""
        posterior = self.vae.posterior
        features, U = TimeFeatures.of(self.frame, self.times).condensed()

        def past(series: Tensor | None) -> Site:
            return self.transport(posterior.site_of(series)).project(U)

        def centred(series: Tensor) -> CentredSite:
            return CentredSite.of(past(series), features).to(self.device, self.dtype)

        in_steps, started = features.to(self.device, self.dtype), posterior.started
        if self.device == self.times.device:
            return in_steps, posterior.compute_site("task", self.series, past, Site) if started else past(None)
        check_draws(self.device)
        if not started:
            return in_steps, past(None).to(self.device, self.dtype)
        return in_steps, posterior.compute_site("task", self.series, centred, CentredSite)

    @cached_property
    def whole(self) -> tuple[Tensor, Tensor, Tensor]:
        """The only series of a field, its values and their mask, as steps read them."""
        y, mask = next(self.chunks())
        return self.series.to(self.device), y.to(self.device), mask.to(self.device)

    def features_and_past(self, times: Tensor, series: Tensor) -> tuple[TimeFeatures, Site]:
        """Features of times of the task `[T]`, and the past of some series of this process, on their device."""
        if self._fixed is None:
            return self.vae.task(times, series)
        features, past = self._fixed
        return features, self.vae.posterior.select_series(past, series)

    @property
    def chunk_size(self) -> int:
        """Number of series whose part of a step is computed at a time, unless features change from step to step."""
        if self._fixed is None or self.device.type != "cpu":
            return max(1, len(self.series))
        latent, size, _ = self._fixed[0].a.shape
        return max(8, MAX_ELEMENTS // (latent * size**2))

    def num_observed(self) -> int:
        """The number of observations of the series of this process, or of the field on all of them."""
        if isinstance(self.vae.field, LocationField):
            return int(self.vae.field.num_values)
        return sum(len(values) for values in self._observed())

    def max_abs_value(self) -> float:
        """The largest absolute value observed by this process."""
        return max((float(values.abs().max()) for values in self._observed() if len(values)), default=0.0)

    def exceeds(self, limit: float) -> bool:
        """Whether an absolute value observed by any process exceeds a limit; every process must call this."""
        exceeding = torch.tensor(int(not self.max_abs_value() <= limit), device=self.times.device)
        return bool(sum_over_processes(exceeding))

    def _observed(self) -> Iterator[Tensor]:
        """The observed values, for some series at a time."""
        return (y[mask] for y, mask in self.chunks())


def check_observations(num_variables: int, times: Tensor, y: Tensor, mask: Tensor) -> None:
    """Raise if a task has no observations, or not the model's number of variables."""
    if y.shape[-1] != num_variables:
        raise ValueError(
            f"the data have {y.shape[-1]} variables, but num_variables is {num_variables}; leave it out to "
            "take it from the data"
        )
    if not any(bool(part.any()) for part in mask.split(CHUNK_SIZE)):
        raise ValueError(
            f"there are no observations at the training times of the task from {float(times[0]):g} to "
            f"{float(times[-1]):g}; leave it out, or use longer tasks"
        )


def is_finite(kernel: Kernel, parameters: Iterable[Tensor]) -> bool:
    """Whether parameters are finite, and lengthscales, learnt as logarithms, neither zero nor infinite."""
    scales = [kernel.lengthscale, kernel.lengthscale.reciprocal()]
    return all(bool(torch.isfinite(value).all()) for value in (*parameters, *scales))


def divergence_error(what: str, task: int, step: int, lr: float, largest: float) -> FloatingPointError:
    """The error to raise if training diverges on data whose largest absolute value is `largest`."""
    return FloatingPointError(
        f"{what} in task {task}, step {step}; lower lr (now {lr:g}), or check the data, whose largest value is "
        f"{largest:.3g}"
    )
