"""Ways to find q(u) of a task: in one pass, at its optimum while other parameters are trained, or free-form."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gpvae.bounds import FreeFormBound, data_site
from gpvae.inference import Training, best_bound, check_finite, end_free_form, solve
from gpvae.likelihoods import is_gaussian
from gpvae.natural_gradients import PointSites
from gpvae.online_gp import OnlineGP
from gpvae.posteriors import FreeForm, Posterior
from gpvae.sites import Site
from gpvae.utils.distributed import sum_over_processes
from gpvae.utils.resizable import assign, expect_buffers


class Learner(nn.Module, ABC):
    """Learns one task after the other with a given model.

    It holds the data of a task from `attach` to `end`; they are never part of the state.
    """

    attached = False
    #: Whether q(u) ends at its optimum.
    at_optimum = True

    def begin(self, gp: OnlineGP, x: Tensor) -> None:
        """Advance the inducing variables to the inputs of a new task."""
        for posterior in gp.posteriors:
            posterior.begin(gp.kernel, x)

    def attach(self, gp: OnlineGP, x: Tensor, y: Tensor, fixed: bool) -> None:
        """Attach the data of the task that has begun.

        Args:
            gp: The model.
            x: Inputs `[N, D]`.
            y: Targets `[N]`.
            fixed: Only q(u) is trained.
        """
        self.data, self.fixed, self.attached = (x, y), fixed, True

    @abstractmethod
    def loss(self, gp: OnlineGP, x: Tensor, y: Tensor, index: Tensor) -> Tensor | None:
        """The loss of a batch of points and their indices in the task; None if there is nothing to train."""

    def end(self, gp: OnlineGP) -> None:
        """Consolidate the task."""
        with torch.no_grad():
            self._end(gp)
        for posterior in gp.posteriors:
            check_finite(posterior.c, posterior.h, posterior.G)
        gp.inputs.record(self.data[0])
        gp.conclude(*self.data, at_optimum=self.at_optimum)
        del self.data
        self.attached = False

    @abstractmethod
    def _end(self, gp: OnlineGP) -> None:
        """End the task of every posterior of the model."""


class SiteAccumulator(nn.Module):
    """The sum of the sites of a task's batches over all processes; the same on each of them.

    Args:
        num_inducing: Number of inducing variables M.
    """

    c: Tensor
    h: Tensor
    G: Tensor
    seen: Tensor

    def __init__(self, num_inducing: int) -> None:
        super().__init__()
        for name, shape in (("c", ()), ("h", (num_inducing,)), ("G", (num_inducing, num_inducing))):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def reset(self) -> None:
        """Set the sum to zero."""
        for buffer in (self.c, self.h, self.G, self.seen):
            buffer.zero_()

    def add(self, site: Site, num_points: int) -> None:
        """Add the sites of a batch of all processes.

        Args:
            site: The site of the batch of this process.
            num_points: Number of points in it.
        """
        for buffer, value in ((self.c, site.c), (self.h, site.h), (self.G, site.G)):
            buffer += sum_over_processes(value)
        self.seen += sum_over_processes(torch.full_like(self.seen, num_points))

    def total(self, num_data: int) -> Site:
        """The site of all points of the task, averaged over passes.

        Args:
            num_data: Number of points of the task.
        """
        passes, rest = divmod(int(self.seen), num_data)
        if passes < 1 or rest:
            raise ValueError(
                f"training saw {int(self.seen)} points in a task of {num_data}: the closed form needs whole passes "
                "over the data; do not set steps_per_epoch or limit_train_batches"
            )
        return Site(self.c / passes, self.h / passes, self.G / passes)


class OnePass(Learner):
    """Gaussian likelihood and nothing to train: the sites of batches are summed.

    Args:
        num_inducing: Number of inducing variables.
        num_families: Number of families that are compared.
    """

    sites: Sequence[SiteAccumulator]  # a ModuleList

    def __init__(self, num_inducing: int, num_families: int) -> None:
        super().__init__()
        sites = [SiteAccumulator(num_inducing) for _ in range(num_families)]
        self.sites = nn.ModuleList(sites)  # type: ignore[assignment]

    def begin(self, gp: OnlineGP, x: Tensor) -> None:
        """Advance the inducing variables, and reset the sums of sites."""
        super().begin(gp, x)
        for posterior, site in zip(gp.posteriors, self.sites, strict=True):
            posterior.adapt_to_kernel(gp.kernel)
            site.reset()

    @torch.no_grad()
    def attach(self, gp: OnlineGP, x: Tensor, y: Tensor, fixed: bool) -> None:
        """Attach the data, and compute frames and past sites once."""
        super().attach(gp, x, y, fixed)
        self.frames = [posterior.task(gp.kernel) for posterior in gp.posteriors]

    @torch.no_grad()
    def loss(self, gp: OnlineGP, x: Tensor, y: Tensor, index: Tensor) -> None:
        """Add the sites of a batch."""
        for posterior, (frame, _), site in zip(gp.posteriors, self.frames, self.sites, strict=True):
            site.add(data_site(frame, gp.likelihood.noise, x, y, posterior.power), len(x))

    def _end(self, gp: OnlineGP) -> None:
        num_data = len(self.data[0])
        for posterior, (frame, past), site in zip(gp.posteriors, self.frames, self.sites, strict=True):
            posterior.end(frame, past + site.total(num_data))
        del self.frames


class Collapsed(Learner):
    """q(u) at its optimum while inducing points or hyperparameters are trained; a step needs the whole task.

    If the likelihood is not Gaussian, natural gradients start from the points' sites of the step before. These are part
    of the state within a task, so that a run that is resumed there takes the same steps.
    """

    precision: Tensor
    natural_mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("precision", "natural_mean"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.float64))

    def attach(self, gp: OnlineGP, x: Tensor, y: Tensor, fixed: bool) -> None:
        """Attach the data, and prepare the bound."""
        super().attach(gp, x, y, fixed)
        resumed = self.precision.shape == y.shape
        self.sites = PointSites(self.precision, self.natural_mean) if resumed else PointSites.zero(y)
        self.bound = best_bound(gp.posterior, gp.kernel, gp.likelihood, x, y, self.sites)

    def loss(self, gp: OnlineGP, x: Tensor, y: Tensor, index: Tensor) -> Tensor | None:
        """The negative bound per point."""
        num_data = len(self.data[0])
        if len(x) != num_data:
            raise ValueError(
                f"a step received {len(x)} of the {num_data} points of a task, but collapsed inference needs all of "
                "them: set batch_size to null, or use inference: free_form"
            )
        if self.fixed:
            return None
        value = -self.bound() / num_data
        if not is_gaussian(gp.likelihood):
            assign(self.precision, self.sites.precision)
            assign(self.natural_mean, self.sites.natural_mean)
        return value

    def _end(self, gp: OnlineGP) -> None:
        solve(gp.posterior, gp.kernel, gp.likelihood, *self.data)
        del self.bound, self.sites
        for buffer in (self.precision, self.natural_mean):
            assign(buffer, buffer[:0])

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        expect_buffers(self, state_dict, prefix, "precision", "natural_mean")
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class WholeTask(Learner):
    """The task is learnt as a whole when it ends, by every process in the same way; for a bank of kernels."""

    def begin(self, gp: OnlineGP, x: Tensor) -> None:
        """Nothing: members are scored before the inducing variables advance."""

    def loss(self, gp: OnlineGP, x: Tensor, y: Tensor, index: Tensor) -> None:
        """Nothing to train."""

    def _end(self, gp: OnlineGP) -> None:
        x, y = self.data
        for posterior in gp.posteriors:
            gp.learn(posterior, gp.likelihood, x, y, Training())


class FreeFormLearner(Learner):
    """q(u) trained together with other parameters, on minibatches if needed.

    Args:
        num_inducing: Number of inducing variables.
    """

    at_optimum = False

    def __init__(self, num_inducing: int) -> None:
        super().__init__()
        eye = torch.eye(num_inducing, dtype=torch.float64)
        self.q = FreeForm(Posterior(eye.new_zeros(num_inducing), eye))

    @torch.no_grad()
    def begin(self, gp: OnlineGP, x: Tensor) -> None:
        """Advance the inducing variables, and start q(u) from the posterior given the past."""
        super().begin(gp, x)
        _, past = gp.posterior.task(gp.kernel)
        self.q.restart(Posterior.from_site(past))

    def attach(self, gp: OnlineGP, x: Tensor, y: Tensor, fixed: bool) -> None:
        """Attach the data, and compute fixed quantities once."""
        super().attach(gp, x, y, fixed)
        self.bound = FreeFormBound(gp.posterior, gp.kernel, gp.likelihood, x, y, fixed)

    def loss(self, gp: OnlineGP, x: Tensor, y: Tensor, index: Tensor) -> Tensor:
        """The negative bound per point, estimated from a batch."""
        return -self.bound(self.q(), index).sum() / len(self.data[0])

    def _end(self, gp: OnlineGP) -> None:
        end_free_form(self.bound, self.q())
        del self.bound
