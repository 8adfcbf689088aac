"""A check that sums over times in float32 were precise enough for the steps of a task."""

import torch
from lightning.pytorch.utilities import rank_zero_warn

from gpvae.vae.shared_times import TimeFeatures
from gpvae.vae.task import SeriesTask
from gpvae.vae.task_posterior import TaskPosterior

#: Number of series that are checked.
NUM_CHECKED = 4
#: Largest difference of posterior means, in standard deviations, and of the bound, in nats for each latent and time.
MAX_SHIFT, MAX_NATS = 1e-2, 1e-3


class PrecisionWarning(UserWarning):
    """The floating point type of training steps is not precise enough."""


@torch.no_grad()
def check_step_precision(task: SeriesTask, number: int) -> None:
    """Warn if the posterior of the present encoder differs noticeably from that computed in float64 throughout.

    Args:
        task: A task whose steps are done.
        number: Its number, from 1.
    """
    if task.dtype == torch.float64:
        return
    vae, series = task.vae, task.series[:NUM_CHECKED]
    encoded = vae.encode(task.times, *task.observations(series), series)
    features, past = task.features_and_past(task.times, series.to(task.device))
    ours = TaskPosterior.of(features, past, *encoded).to(series.device)
    past = task.transport(vae.posterior.site_of(series))
    exact = TaskPosterior.of(TimeFeatures.of(task.frame, task.times), past, *encoded)
    shift = float(((ours.mean - exact.mean).abs() / exact.stddev).max())
    nats = float((ours.prior_terms - exact.prior_terms).abs().max()) / exact.mean[0].numel()
    if not (shift <= MAX_SHIFT and nats <= MAX_NATS):
        rank_zero_warn(
            f"the steps of task {number} were taken in float32, which was not precise enough: posterior means differ "
            f"from those in float64 by up to {shift:.2g} standard deviations, the bound by {nats:.2g} nats for "
            "each latent and time. The task is consolidated in float64; for its steps use step_precision: float64, or "
            "scale the data",
            category=PrecisionWarning,
        )
