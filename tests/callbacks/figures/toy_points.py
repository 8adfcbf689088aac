"""Small streams of points, and a streaming GP that learns one task in each epoch."""

import math
from typing import Any

import torch
from torch import Tensor

from datamodules import PointStream
from datamodules.splits import Task
from gpvae.metrics import TaskScores
from gpvae.modules import StreamingGP


class Stream(PointStream):
    """Given points in order; every third training point is also a test point.

    Args:
        x: Inputs `[N, D]`.
        y: Targets `[N]`.
        num_tasks: Number of tasks.
        options: Options of `PointStream`.
    """

    def __init__(self, x: Tensor, y: Tensor, num_tasks: int, **options: Any) -> None:
        super().__init__(num_tasks, **options)
        self.x, self.y, self.input_dim = x, y, x.shape[-1]
        self.setup()

    def read(self) -> tuple[Tensor, Tensor]:
        return self.x, self.y

    def setup(self, stage: str | None = None) -> None:
        x, y = (part.tensor_split(self.num_tasks) for part in self.read())
        self.tasks = [Task(a, b, a[::3], b[::3]) for a, b in zip(x, y, strict=True)]


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def wave(num_tasks: int = 3, num: int = 90, **options: Any) -> Stream:
    g = rng()
    x = 5 * torch.rand(num, 1, generator=g, dtype=torch.float64).sort(0).values
    y = torch.sin(4 * x[:, 0]) * torch.cos(x[:, 0]) + 0.2 * torch.randn(num, generator=g, dtype=torch.float64)
    return Stream(x, y, num_tasks, **options)


def counts(num_tasks: int = 3, num: int = 90) -> Stream:
    x = torch.linspace(0, 5, num, dtype=torch.float64)[:, None]
    rate = 4 + 3 * torch.sin(2 * x[:, 0])
    return Stream(x, torch.poisson(rate, generator=rng()), num_tasks)


def labels(num_tasks: int = 3, num: int = 90) -> Stream:
    """Two interleaved half circles, in order of the first dimension."""
    g = rng()
    angle = math.pi * torch.rand(num, generator=g, dtype=torch.float64)
    y = (torch.arange(num) % 2).double()
    upper = torch.stack([angle.cos(), angle.sin()], -1)
    lower = torch.stack([1 - angle.cos(), 0.5 - angle.sin()], -1)
    x = torch.where(y[:, None] == 1, upper, lower) + 0.1 * torch.randn(num, 2, generator=g, dtype=torch.float64)
    order = x[:, 0].argsort()
    return Stream(x[order], y[order], num_tasks)


def five_dimensions(num_tasks: int = 3, num: int = 60) -> Stream:
    x = torch.randn(num, 5, generator=rng(), dtype=torch.float64)
    return Stream(x, x.sum(-1), num_tasks)


class Learner(StreamingGP):
    """Learns one task in each epoch, and is scored by its RMSE.

    Args:
        family: Family of inducing variables.
        num_inducing: Number of inducing variables.
        likelihood: Name of the likelihood.
        lengthscale: Lengthscale of the kernel.
        options: Options of `StreamingGP`.
    """

    def __init__(
        self, family: str, num_inducing: int, likelihood: str = "gaussian", lengthscale: float = 0.4, **options: Any
    ) -> None:
        scales = {"noise": 0.04} if likelihood == "gaussian" else {"outputscale": 5.0}
        options = {"likelihood": likelihood, "lengthscale": lengthscale, **scales, **options}
        super().__init__(family, num_inducing, hyperparameters="fixed", **options)
        self.scores = TaskScores(["rmse"])
        self.automatic_optimization = False

    def training_step(self, batch: tuple[Tensor, ...], batch_idx: int) -> None:
        self.learn_next(self.trainer.datamodule.tasks)

    def learn_next(self, tasks: list[Task]) -> None:
        if self.begun == self.learned:
            self.begun += 1
        task = tasks[int(self.learned)]
        self.gp.update(task.x_train, task.y_train, **({"steps": 20} if self.gp.inducing.points is not None else {}))
        self.learned += 1


def learn(module: Learner, stream: Stream, num_tasks: int) -> Learner:
    """Learn the next tasks of a stream."""
    for _ in range(num_tasks):
        module.learn_next(stream.tasks)
    return module
