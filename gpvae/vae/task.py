"""The task that a GP-VAE learns: its data, quantities that stay fixed during the task, and checks of both."""

from collections.abc import Iterable, Iterator

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.sites import Site
from gpvae.utils.row_store import take
from gpvae.vae.model import GPVAE
from gpvae.vae.shared_times import View

#: Number of series whose observations are read together.
AT_ONCE = 1024


class SeriesTask:
    """The data of a task that has begun, and the past of all series seen from its inducing variables.

    Args:
        vae: The model, its inducing variables advanced to the task.
        times: `[T]`.
        y: Observations `[S, T, V]`.
        mask: Which of them there are, `[S, T, V]`.
        fixed: Neither kernel nor inducing variables are trained: the view of the past is computed once.
    """

    @torch.no_grad()
    def __init__(self, vae: GPVAE, times: Tensor, y: Tensor, mask: Tensor, *, fixed: bool) -> None:
        self.vae, self.times, self.y, self.mask = vae, times.to(vae.posterior.L.device), y, mask
        self.series = vae.posterior.own(len(y))
        self.frame, self.transport = vae.posterior.task_frame(vae.kernel)
        self._fixed = self._condensed() if fixed else None

    def _condensed(self) -> tuple[View, Site]:
        """The times of the task and the past of all series, seen from the few variables that the task touches."""
        posterior, transport = self.vae.posterior, self.transport
        few, U = View.of(self.frame, self.times).condensed()
        if not posterior.started:
            return few, transport(posterior.site).through(U)
        return few, posterior.keep("task", self.series, lambda some: transport(posterior.site_of(some)).through(U))

    def of_series(self, times: Tensor, series: Tensor) -> tuple[View, Site]:
        """Times of the task `[T]`, and the past of some series of this process."""
        if self._fixed is None:
            return self.vae.task(times, series)
        view, past = self._fixed
        return view, self.vae.posterior.of_series(past, series)

    def num_observed(self) -> int:
        """The number of observations of the series of this process."""
        return sum(len(values) for values in self._observed())

    def largest(self) -> float:
        """The largest absolute value observed by this process."""
        return max((float(values.abs().max()) for values in self._observed() if len(values)), default=0.0)

    def _observed(self) -> Iterator[Tensor]:
        """The observations, of some series at a time."""
        return (take(self.y, some)[take(self.mask, some)] for some in self.series.split(AT_ONCE))


def check_observations(num_variables: int, times: Tensor, y: Tensor, mask: Tensor) -> None:
    """Raise if a task has no observations, or another number of variables than the model."""
    if y.shape[-1] != num_variables:
        raise ValueError(
            f"the data have {y.shape[-1]} variables, but num_variables is {num_variables}; leave it out to "
            "take it from the data"
        )
    if not any(bool(part.any()) for part in mask.split(AT_ONCE)):
        raise ValueError(
            f"there are no observations at the training times of the task from {float(times[0]):g} to "
            f"{float(times[-1]):g}; leave it out, or use longer tasks"
        )


def is_finite(kernel: Kernel, parameters: Iterable[Tensor]) -> bool:
    """Whether parameters are finite, and lengthscales, which are learnt as logarithms, neither zero nor infinite."""
    scales = [kernel.lengthscale, kernel.lengthscale.reciprocal()]
    return all(bool(torch.isfinite(value).all()) for value in (*parameters, *scales))


def divergence(what: str, task: int, step: int, lr: float, largest: float) -> FloatingPointError:
    """The error to raise, for data whose largest absolute value is `largest`."""
    return FloatingPointError(
        f"{what} in task {task}, step {step}; lower lr (now {lr:g}), or check the data, whose largest value is "
        f"{largest:.3g}"
    )
