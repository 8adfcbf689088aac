"""The share of the latents' prior variance that the inducing variables resolve, over the stream so far."""

import math

import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor, nn

from gpvae.diagnostics import ResolutionWarning
from gpvae.inducing import ChosenCosines
from gpvae.inducing.time import WindowedMemory
from gpvae.vae.model import GPVAE

#: Minimum mean share of the latents' prior variance to resolve. On the ERA5 sample, the NLPD rises below it, and has
#: doubled at 0.91.
MIN_RESOLVED = 0.95
#: Larger numbers of variables are not tried.
MAX_ADVISED = 1024
#: Lengthscales start no shorter than this multiple of the shortest allowed.
START_ABOVE = 1.01
#: Length of a stream that may grow without end, in lengths of its first task.
PLANNED_TASKS = 10
#: Number of times, spread over the stream, at which the share is measured.
NUM_TIMES = 512


@torch.no_grad()
def limit_lengthscales(vae: GPVAE, horizon: float) -> None:
    """Keep lengthscales above the shortest that the inducing variables can follow over the whole stream.

    Args:
        vae: The model, with a kernel of `latent_kernel`.
        horizon: Length of the stream; 0 for no limit. Variables over a sliding window have none.
    """
    family, kernel = vae.posterior.inducing, vae.kernel
    if horizon > 0 and not isinstance(family, WindowedMemory):
        shortest = horizon / family.num_inducing
        start = kernel.lengthscale.clamp_min(START_ABOVE * shortest)
        kernel.raw_lengthscale_constraint.lower_bound.fill_(shortest)
        kernel.lengthscale = start


def warn_outgrown(family: ChosenCosines, last: Tensor) -> None:
    """Warn if a stream is about to outgrow its planned length.

    Args:
        family: The inducing variables, before they advance to a task.
        last: The last time of the task.
    """
    before, now = float(family.horizon), float(family.horizon_for(last))
    if family.started and now > before:
        rank_zero_warn(
            f"the stream is longer than the {before:,.0f} units of time planned for: the same {family.num_inducing} "
            f"inducing variables now stand for {now:,.0f}, and their resolution falls accordingly. Start with the "
            "horizon that you expect, and as many more variables, to keep it",
            category=ResolutionWarning,
        )


class Resolution(nn.Module):
    """Measures how well the inducing variables resolve the latents, and warns once when they have become too few.

    Attributes:
        start: Time at which the stream began.
        share: Share of the latents' prior variance that is resolved, mean over latents and times.
    """

    start: Tensor
    share: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("start", torch.zeros((), dtype=torch.float64))
        self.register_buffer("share", torch.ones((), dtype=torch.float64))

    def begin(self, vae: GPVAE, times: Tensor, horizon: float | None) -> None:
        """Begin a task. Limit lengthscales before the first one; warn when the stream outgrows what they allow for.

        Args:
            vae: The model, before its inducing variables advance to the task.
            times: Times of the task, `[T]`.
            horizon: Length of the stream that the memory is to hold; 0 for no limit. Not given: a multiple of that
                of the first task.
        """
        if not vae.posterior.inducing.started:
            self.start.copy_(times[0])
            unplanned = PLANNED_TASKS * float(times[-1] - times[0])
            length = unplanned if horizon is None else horizon
            if isinstance(family := vae.posterior.inducing, ChosenCosines):
                family.plan(length)
            else:
                limit_lengthscales(vae, length)
            return
        if isinstance(vae.posterior.inducing, ChosenCosines):
            warn_outgrown(vae.posterior.inducing, times[-1])
            return
        family, shortest = vae.posterior.inducing, vae.kernel.raw_lengthscale_constraint.lower_bound.detach()
        length = float(shortest) * family.num_inducing
        first, last = (float(time - self.start) for time in (times[0], times[-1]))
        if length > 0 and first <= length < last:
            rank_zero_warn(
                f"the stream outgrows its horizon: {family.num_inducing} {type(family).__name__} variables hold "
                f"{length:,.0f} units of time at lengthscales of {float(shortest):.3g}, and this task ends at "
                f"{last:,.0f}. Learning goes on, but what is kept of the whole past becomes smoother with every task. "
                "To keep its detail, start again with a longer horizon and num_inducing raised in proportion",
                category=ResolutionWarning,
            )

    def measure(self, vae: GPVAE, end: float) -> None:
        """Measure the share from the start of the stream to a time, and warn if it has become too small."""
        before = float(self.share)
        times = torch.linspace(float(self.start), end, NUM_TIMES, dtype=torch.float64, device=self.start.device)
        self.share.copy_(vae.resolved_share(times).mean())
        if self.share >= MIN_RESOLVED or before < MIN_RESOLVED:
            return
        family, needed = vae.posterior.inducing, num_needed(vae, times)
        advice = "" if needed is None else f" to {needed}, which resolve {MIN_RESOLVED:.0%} of a stream of this length"
        share = math.floor(100 * self.share)
        rank_zero_warn(
            f"over the {end - float(self.start):,.0f} units of time so far, {family.num_inducing} "
            f"{type(family).__name__} variables resolve {share}% of the latents' prior variance, less than the "
            f"{MIN_RESOLVED:.0%} that good predictions need: from here on, predictions smooth fast changes away, in "
            f"old tasks and new; raise num_inducing{advice}; a longer stream needs more, in proportion",
            category=ResolutionWarning,
        )


def num_needed(vae: GPVAE, times: Tensor) -> int | None:
    """The smallest number of inducing variables that resolve enough, by doubling and bisection; None if unknown.

    Args:
        vae: The model.
        times: The times at which the share is measured, `[T]`.
    """
    family = vae.posterior.inducing

    def suffices(number: int) -> bool:
        other = family.resized(number, vae.kernel)
        return other is not None and bool(vae.resolved_share(times, other).mean() >= MIN_RESOLVED)

    too_few, enough = family.num_inducing, 2 * family.num_inducing
    while not suffices(enough):
        too_few, enough = enough, 2 * enough
        if enough > MAX_ADVISED:
            return None
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if suffices(middle) else (middle, enough)
    return enough
