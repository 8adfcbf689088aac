"""Learn ten tasks one after the other, with optimised inducing points and with a HiPPO memory."""

# %% [markdown]
# # Ten tasks, one after the other
#
# This example compares two models on a stream of ten tasks: one with optimised inducing points, one with a HiPPO
# memory. Both see each task once. At the end, both predict the whole stream.

# %%
import gpytorch
import matplotlib.pyplot as plt
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import gpvae

torch.set_num_threads(1)  # small matrices do not profit from more threads

NUM_TASKS, POINTS_PER_TASK, NUM_INDUCING, NOISE = 10, 50, 70, 0.2
STEPS = 300  # for each task, to optimise the points

# %% [markdown]
# The signal is synthetic: two waves with noise, one of them slowly modulated.


# %%
def signal(x: Tensor) -> Tensor:
    """Two waves, one of them modulated slowly."""
    return torch.sin(11.3 * x) * torch.cos(1.1 * x) + 0.6 * torch.sin(5.7 * x + 1)


def draw_data(num: int, seed: int) -> tuple[Tensor, Tensor]:
    """Noisy observations at random times between 0 and 10, in order."""
    rng = torch.Generator().manual_seed(seed)
    x = 10 * torch.rand(num, generator=rng, dtype=torch.float64).sort().values
    return x, signal(x) + NOISE * torch.randn(num, generator=rng, dtype=torch.float64)


# %% [markdown]
# A model consists of a family of inducing variables, a kernel and a likelihood. The kernel is fitted to the first task.
# The model then sees every batch once. `update` has a closed form for the memory; points are optimised with `steps` of
# Adam.


# %%
def learn(inducing: gpvae.inducing.InducingVariables, batches: list[tuple[Tensor, Tensor]]) -> gpvae.OnlineGP:
    """A model that has seen every batch once."""
    gp = gpvae.OnlineGP(
        inducing,
        gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()),
        gpytorch.likelihoods.GaussianLikelihood(),
    )
    gp.fit_hyperparameters(*batches[0])
    for x, y in batches:
        gp.update(x, y, steps=STEPS)
    return gp


# %% [markdown]
# Both models have M = 70 variables. The points move to the current task, so the model forgets early tasks. The
# projections represent the whole past, so the model remembers them.


# %%
x, y = draw_data(NUM_TASKS * POINTS_PER_TASK, seed=0)
batches = list(zip(x.split(POINTS_PER_TASK), y.split(POINTS_PER_TASK), strict=True))
x_test, y_test = draw_data(1000, seed=1)
edges = torch.stack([batch[0][0] for batch in batches[1:]])
models = {
    f"OSGPR: {NUM_INDUCING} optimised points": learn(gpvae.inducing.Points(NUM_INDUCING), batches),
    f"OHSGPR: {NUM_INDUCING} HiPPO projections": learn(gpvae.inducing.LegS(NUM_INDUCING), batches),
}

table = Table(title="NLPD on held-out points of each task, after the last task (lower is better)")
table.add_column("method")
for task in range(NUM_TASKS):
    table.add_column(str(task + 1), justify="right")
task_of = torch.bucketize(x_test, edges, right=True)
for name, gp in models.items():
    nlpd = -gp.predict(x_test).log_prob(y_test)
    table.add_row(name, *(f"{nlpd[task_of == task].mean():.2f}" for task in range(NUM_TASKS)))
Console(width=120).print(table)

# %%
grid = torch.linspace(0, 10, 1000, dtype=torch.float64)
fig, axes = plt.subplots(
    len(models),
    1,
    figsize=(10, 4.6),
    sharex=True,
    sharey=True,
    layout="constrained",
    num="Both models after the last task",
)
for ax, (name, gp) in zip(axes, models.items(), strict=True):
    y_dist = gp.predict(grid)
    ax.fill_between(
        grid, y_dist.mean - 2 * y_dist.stddev, y_dist.mean + 2 * y_dist.stddev, color="tab:blue", alpha=0.2, lw=0
    )
    ax.plot(grid, y_dist.mean, color="tab:blue", lw=1.5)
    ax.plot(x, y, ".", color="black", ms=2.5)
    for edge in edges:
        ax.axvline(edge, color="grey", lw=0.5, ls=":")
    ax.set_title(name, loc="left", fontsize=10)
    ax.set_ylim(-3, 3)
axes[-1].set_xlabel("time; the dotted lines divide the tasks")
axes[-1].set_xlim(0, 10)
plt.show()
