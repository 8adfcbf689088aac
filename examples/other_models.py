"""Train a neural network on a stream of tasks, with and without protection against forgetting."""

# %% [markdown]
# # Continual learning for a model of your own
#
# Nothing in the streams and callbacks of this package needs a Gaussian process. `ContinualLearning` leads any
# `ContinualModule` through a stream of tasks, and `TaskReport` scores every task after every task. This page trains a
# small neural network, which forgets, and protects it in two ways of about ten lines each.

# %%
import logging
import warnings

import matplotlib.pyplot as plt
import torch
from lightning import Trainer, seed_everything
from torch import Tensor, nn
from torch.distributions import Distribution, Normal
from torch.nn.utils import parameters_to_vector

from gpvae.callbacks import ContinualLearning, TaskReport
from gpvae.datamodules import Batch, PointStream
from gpvae.modules import ContinualModule

torch.set_num_threads(1)
logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)  # raised within Lightning
NUM_TASKS = 4

# %% [markdown]
# ## A stream
#
# A stream of points has a method `read` that returns all of them. The base class sorts them, divides them into tasks,
# and holds some out for testing. For data of another shape, derive from `TaskStream`, which has three methods.


# %%
class Wave(PointStream):
    """A noisy wave, in tasks from left to right."""

    input_dim = 1
    likelihood = "gaussian"

    def read(self) -> tuple[Tensor, Tensor]:
        """Inputs `[N, 1]` and targets `[N]`."""
        rng = torch.Generator().manual_seed(0)
        x = 4 * torch.rand(800, generator=rng, dtype=torch.float64)
        y = torch.sin(3 * x) + x / 4 + 0.1 * torch.randn(800, generator=rng, dtype=torch.float64)
        return x[:, None], y


# %% [markdown]
# ## A module
#
# A `ContinualModule` is a LightningModule with one more method: `predictive` returns a distribution and the targets, by
# which test points are scored. The names given to the base class are [metrics](../api/metrics.md).


# %%
class Network(ContinualModule):
    """A network with two hidden layers that predicts a normal distribution."""

    def __init__(self) -> None:
        super().__init__(["nlpd", "rmse"])
        self.layers = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))

    def forward(self, x: Tensor) -> Normal:
        """The distribution of y at some inputs."""
        mean, scale = self.layers(x.float() / 2 - 1).unbind(-1)
        return Normal(mean.double(), nn.functional.softplus(scale).double() + 0.01)

    def predictive(self, batch: Batch) -> tuple[Distribution, Tensor]:
        """The predictive distribution of test points, and their targets."""
        return self(batch.x), batch.y

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The loss of a batch, and the protection of earlier tasks."""
        return -self(batch.x).log_prob(batch.y).mean() + self.protection()

    def protection(self) -> Tensor | float:
        """What is added to the loss to protect earlier tasks: here nothing."""
        return 0.0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam, whose state `ContinualLearning` resets at each task."""
        return torch.optim.Adam(self.parameters(), lr=3e-3)


# %% [markdown]
# ## Two protections
#
# `end_task` is called once after each task, without gradients. The data of the task are still there, as `task_data`;
# the base class then counts the task and releases them. What is to be remembered is in buffers, so checkpoints have it,
# and a run that is [interrupted](../howto/resume.md) ends as if it had not been. `save_hyperparameters` is Lightning's:
# it keeps the arguments, from which a checkpoint is loaded.
#
# **Elastic weight consolidation** (EWC, Kirkpatrick et al. 2017) remembers the weights, and how much the predictions of
# all tasks so far depend on each of them (the diagonal of the Fisher information). It keeps no data.


# %%
class EWC(Network):
    """Weights that matter for earlier tasks stay close to what they were."""

    def __init__(self, strength: float = 0.1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.strength = strength
        weights = parameters_to_vector(self.parameters()).detach()
        self.register_buffer("weights", weights)
        self.register_buffer("fisher", torch.zeros_like(weights))

    def protection(self) -> Tensor | float:
        """The squared change of each weight, weighted by how much it matters."""
        change = parameters_to_vector(self.parameters()) - self.weights
        return self.strength * (self.fisher * change.square()).sum()

    def end_task(self) -> None:
        """Add the Fisher information of the task, with targets drawn from the model."""
        x, _ = self.task_data
        for point, y in zip(x, self(x).sample(), strict=True):
            with torch.enable_grad():
                gradients = torch.autograd.grad(self(point[None]).log_prob(y).sum(), list(self.parameters()))
            self.fisher += parameters_to_vector(gradients).square()
        self.weights.copy_(parameters_to_vector(self.parameters()))
        super().end_task()


# %% [markdown]
# **Replay** keeps a few points of each task, and learns them together with the new ones.


# %%
class Replay(Network):
    """Some points of each task are learnt again."""

    def __init__(self, kept: int = 20) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.register_buffer("kept", torch.zeros(2, NUM_TASKS, kept, dtype=torch.float64))

    def protection(self) -> Tensor | float:
        """The loss of the points that were kept; `learned` is the number of tasks that have ended."""
        if self.learned == 0:
            return 0.0
        x, y = self.kept[:, : self.learned].flatten(1)
        return -self(x[:, None]).log_prob(y).mean()

    def end_task(self) -> None:
        """Keep some points of the task."""
        x, y = self.task_data
        some = torch.randperm(len(x))[: self.kept.shape[-1]]
        self.kept[:, self.learned] = torch.stack([x[some, 0], y[some]])
        super().end_task()


# %% [markdown]
# ## Train
#
# `data.trainer_options` tells Lightning how many epochs the stream has, and when to evaluate. The rest is Lightning as
# usual.


# %%
def learn(module: Network) -> TaskReport:
    """Train a module on all tasks, and return its scores."""
    data, report = Wave(NUM_TASKS, epochs_per_task=50, batch_size=30), TaskReport(print_table=False, compare=False)
    trainer = Trainer(
        accelerator="cpu",
        default_root_dir=f"runs/{type(module).__name__}",  # scores are written to task_metrics.csv there
        callbacks=[ContinualLearning(), report],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **data.trainer_options,
    )
    trainer.fit(module, datamodule=data)
    return report


modules = {}
for kind in (Network, EWC, Replay):
    seed_everything(0, verbose=False)
    modules[kind.__name__] = module = kind()
    report = learn(module)
    print(f"{kind.__name__}: root mean squared error, one row after each task, one column per task")
    for row in report.matrix("rmse"):
        print("  " + "".join(f"{value:>8.2f}" if value == value else " " * 8 for value in row))
    print(f"  mean rise of old tasks: {report.table.forgetting('rmse'):.2f}\n")

# %% [markdown]
# The noise is 0.1, so nothing can do better than that. The network without protection learns each task and loses those
# before it. EWC keeps the first tasks, and becomes too stiff for the last ones. Twenty points of each task are enough
# to keep all of them and to learn the next.

# %%
data = Wave(NUM_TASKS)
data.setup()
fig, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained", num="After the last task")
grid = torch.linspace(0, 4, 200, dtype=torch.float64)
for ax, (name, module) in zip(axes, modules.items(), strict=True):
    with torch.no_grad():
        y = module(grid[:, None])
    for task in range(NUM_TASKS):
        ax.plot(*(part.squeeze() for part in data.task_data(task)), ".", ms=2)
    ax.plot(grid, y.mean, color="black", lw=1.2)
    ax.fill_between(grid, y.mean - 2 * y.stddev, y.mean + 2 * y.stddev, color="black", alpha=0.15, lw=0)
    ax.set_title(f"{name}, after the last task", loc="left", fontsize=10)
    ax.set_ylim(-3, 4)
plt.show()

# %% [markdown]
# ## On the command line
#
# Put the classes into a file, such as `networks.py`, and `gpvae fit` trains them with everything that it does for the
# models of this package: checkpoints after each task, resuming, TensorBoard, [the report](../report.md).
# `networks.Replay.load_from_checkpoint` reads its checkpoints.
#
# ```sh
# gpvae fit --model networks.Replay --data networks.Wave --allow networks --data.num_tasks 4 --data.epochs_per_task 50
# ```
#
# For comparison, a Gaussian process learns these tasks in closed form, without forgetting and without a protection:
# `gpvae fit --model StreamingGP --data networks.Wave --allow networks`.
