"""A stream of two tasks: basis, q(u), and the posterior beside the exact GP, as in figure 1."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from gpytorch.kernels import Kernel
from gpytorch.means import ZeroMean
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from torch.distributions import Distribution, Normal

from benchmarks.reproduce.drawing.checkpoints import Learnt, load
from benchmarks.reproduce.drawing.styles import BLUE, GREEN, GREY, INK, PURPLE, VERMILLION
from datamodules.splits import Task
from gpvae.inducing.time import TimeMemory
from gpvae.inference import Training, absorb
from gpvae.kernels import covariance, variance
from gpvae.online_gp import OnlineGP
from gpvae.utils.linalg import cholesky, matvec, solve_lower

NAME = "toy_figure_1"
#: Colours of the first variables.
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE)
GRID = 301
#: Number of ends of the memory at which q(u) is shown in each task, and the first one as a fraction of the first task.
ENDS, FIRST = 40, 0.1


@dataclass(frozen=True)
class Evolution:
    """q(u) as the end of the memory moves through a task.

    Attributes:
        ends: Ends of the memory, `[E]`.
        mean: Means, `[E, M]`.
        stddev: Standard deviations, `[E, M]`.
    """

    ends: Tensor
    mean: Tensor
    stddev: Tensor


def toy(runs: Path) -> Figure | None:
    """Learn the two tasks again with the kernel of the run, and draw basis, q(u) and posteriors.

    Args:
        runs: Folder of runs.
    """
    found, _ = load({NAME: runs / NAME})
    return _draw(found[NAME]) if found else None


@torch.no_grad()
def _draw(learnt: Learnt) -> Figure:
    tasks, kernel, likelihood = learnt.tasks, learnt.gp.kernel, learnt.gp.likelihood
    family = type(learnt.gp.inducing)(learnt.gp.inducing.num_inducing)
    gp = OnlineGP(family, kernel, likelihood, mean=ZeroMean())
    begin, end = float(tasks[0].x_train.min()), float(tasks[-1].x_train.max())
    x = torch.linspace(begin, end, GRID, dtype=torch.float64)[:, None]
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    axes = figure.subplots(3, 1 + len(tasks), sharex=True)
    for number, task in enumerate(tasks, start=1):
        evolution = follow(gp, task)
        gp.update(task.x_train, task.y_train)
        _draw_basis(axes[number - 1, 0], gp, x, number)
        _draw_evolution(axes[2, 0], evolution)
        seen = tasks[:number]
        within = x[x[:, 0] <= _end(gp)]
        rows = (
            ("(c) exact GP", x, exact(kernel, likelihood.noise, seen, x)),
            ("(d) OHSGPR", x, gp.latent(x)),
            ("(e) reconstruction from the basis", within, gp.reconstruct(within)),
        )
        for ax, (name, where, f) in zip(axes[:, number], rows, strict=True):
            _draw_posterior(ax, where, f, likelihood.noise, seen)
            ax.set_title(f"{name}, after task {number}")
    axes[2, 0].set_title("(b) q(u), mean ± 2 sd, as the memory's end moves")
    _finish(axes[:, 1:].flat, axes.flat, tasks)
    for ax, name in zip(axes[-1], ("end of the memory", *["x"] * len(tasks)), strict=True):
        ax.set_xlabel(name)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=len(COLOURS), frameon=False)
    return figure


def follow(gp: OnlineGP, task: Task) -> Evolution:
    """The optimal q(u) after a task, for memories that end at points within it.

    Args:
        gp: The model before the task; it is not changed.
        task: The task.
    """
    origin, last = float(task.x_train.min()), float(task.x_train.max())
    begin = _end(gp) if gp.posterior.started else origin + FIRST * (last - origin)
    ends = torch.linspace(begin, last, ENDS + 1, dtype=torch.float64)[1:]
    means, stddevs = [], []
    for end in ends:
        posterior = copy.deepcopy(gp.posterior)
        posterior.begin(gp.kernel, torch.tensor([[min(origin, float(end))], [float(end)]], dtype=torch.float64))
        absorb(posterior, gp.kernel, gp.likelihood, task.x_train, task.y_train, Training())
        frame, q = posterior.q(gp.kernel)
        means.append(matvec(frame.L, q.mean))
        stddevs.append((frame.L @ q.root).norm(dim=-1))
    return Evolution(ends, torch.stack(means), torch.stack(stddevs))


def exact(kernel: Kernel, noise: Tensor, tasks: Sequence[Task], x: Tensor) -> Normal:
    """The posterior of f by an exact GP on all points of some tasks.

    Args:
        kernel: The kernel.
        noise: Variance of the noise.
        tasks: The tasks.
        x: Inputs `[N, D]`.
    """
    seen, y = torch.cat([task.x_train for task in tasks]), torch.cat([task.y_train for task in tasks])
    L = cholesky(covariance(kernel, seen, seen) + noise * torch.eye(len(seen), dtype=seen.dtype), jitter=0.0)
    a = solve_lower(L, covariance(kernel, seen, x))
    half = solve_lower(L, y[:, None])[:, 0]
    return Normal(a.mT @ half, (variance(kernel, x) - (a * a).sum(0)).clamp_min(1e-12).sqrt())


def _end(gp: OnlineGP) -> float:
    """The end of the memory and of the basis."""
    assert isinstance(gp.inducing, TimeMemory)
    return float(gp.inducing.end)


def _draw_basis(ax: Axes, gp: OnlineGP, x: Tensor, number: int) -> None:
    within = x[x[:, 0] <= _end(gp)]
    values = gp.inducing.basis(within)
    for m, colour in enumerate(COLOURS):
        ax.plot(within[:, 0].numpy(), values[:, m].numpy(), color=colour, lw=1.5, label=f"$m = {m + 1}$")
    ax.set_title(f"(a) first basis functions after task {number}")


def _draw_evolution(ax: Axes, found: Evolution) -> None:
    for m, colour in enumerate(COLOURS):
        mean, spread = found.mean[:, m], 2 * found.stddev[:, m]
        ends = found.ends.numpy()
        ax.fill_between(ends, (mean - spread).numpy(), (mean + spread).numpy(), color=colour, alpha=0.25, lw=0)
        ax.plot(ends, mean.numpy(), color=colour, lw=1.5)


def _draw_posterior(ax: Axes, x: Tensor, f: Distribution, noise: Tensor, tasks: Sequence[Task]) -> None:
    spread = 2 * (f.variance + noise).sqrt()
    where = x[:, 0].numpy()
    ax.fill_between(where, (f.mean - spread).numpy(), (f.mean + spread).numpy(), color=BLUE, alpha=0.2, lw=0)
    ax.plot(where, f.mean.numpy(), color=BLUE, lw=1.5)
    for task, colour in zip(reversed(tasks), (INK, *[GREY] * len(tasks)), strict=False):
        ax.plot(task.x_train[:, 0].numpy(), task.y_train.numpy(), ".", color=colour, ms=4, mew=0)


def _finish(posteriors: Iterable[Axes], everything: Iterable[Axes], tasks: Sequence[Task]) -> None:
    """Set the same limits for all posteriors, and draw a line at the start of the second task."""
    y = torch.cat([task.y_train for task in tasks])
    low, high = float(y.min()), float(y.max())
    for ax in posteriors:
        ax.set_ylim(low - 0.4 * (high - low), high + 0.4 * (high - low))
    for ax in everything:
        for task in tasks[1:]:
            ax.axvline(float(task.x_train.min()), color=GREY, lw=0.8, ls=":")
