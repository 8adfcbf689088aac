"""The least that has to surround a figure: a module that learns one task an epoch, its stream and its report."""

import math

import numpy as np
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, Likelihood, PoissonLikelihood
from lightning.pytorch import Callback, LightningDataModule, LightningModule, Trainer
from torch import Tensor
from torch.distributions import Distribution
from torch.utils.data import DataLoader

from datamodules.splits import Task
from gpvae import OnlineGP
from gpvae.inducing import InducingVariables


class Stream(LightningDataModule):
    """Tasks in order."""

    def __init__(self, x: Tensor, y: Tensor, num_tasks: int) -> None:
        super().__init__()
        parts = zip(x.tensor_split(num_tasks), y.tensor_split(num_tasks), strict=True)
        self.tasks = [Task(a, b, a[::3], b[::3]) for a, b in parts]
        self.input_dim = x.shape[-1]

    def train_dataloader(self) -> DataLoader:
        return DataLoader([0])

    def val_dataloader(self) -> DataLoader:
        return DataLoader([0])


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def wave(num_tasks: int = 3, num: int = 90) -> Stream:
    g = rng()
    x = 5 * torch.rand(num, 1, generator=g, dtype=torch.float64).sort(0).values
    y = torch.sin(4 * x[:, 0]) * torch.cos(x[:, 0]) + 0.2 * torch.randn(num, generator=g, dtype=torch.float64)
    return Stream(x, y, num_tasks)


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


LIKELIHOODS: dict[str, type[Likelihood]] = {
    "gaussian": GaussianLikelihood,
    "bernoulli": BernoulliLikelihood,
    "poisson": PoissonLikelihood,
}


class Learner(LightningModule):
    """Takes in one task an epoch, before validation."""

    learned: Tensor

    def __init__(self, inducing: InducingVariables, likelihood: str = "gaussian", lengthscale: float = 0.4) -> None:
        super().__init__()
        kernel = ScaleKernel(RBFKernel()).double()
        kernel.base_kernel.lengthscale = lengthscale
        noise = LIKELIHOODS[likelihood]()
        if likelihood == "gaussian":
            noise.noise = 0.04
        else:
            kernel.outputscale = 5.0
        self.gp = OnlineGP(inducing, kernel, noise)
        self.register_buffer("learned", torch.zeros((), dtype=torch.int64))
        self.automatic_optimization = False

    def predict(self, x: Tensor) -> Distribution:
        return self.gp.predict(x)

    def training_step(self, batch: Tensor) -> None:
        self.learn_next(self.trainer.datamodule.tasks)

    def learn_next(self, tasks: list[Task]) -> None:
        task = tasks[int(self.learned)]
        self.gp.update(task.x_train, task.y_train, **({"steps": 20} if self.gp.inducing.points is not None else {}))
        self.learned += 1

    def validation_step(self, batch: Tensor) -> None:
        return None

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        return []


class FakeReport(Callback):
    """Root mean square errors, taken in after validation."""

    def __init__(self) -> None:
        self.rows: list[list[float]] = []

    @property
    def metrics(self) -> list[str]:
        return ["rmse"]

    def matrix(self, metric: str) -> np.ndarray:
        result = np.full((len(self.rows), len(self.rows)), np.nan)
        for i, row in enumerate(self.rows):
            result[i, : len(row)] = row
        return result

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.sanity_checking:
            seen = trainer.datamodule.tasks[: int(pl_module.learned)]
            errors = [(pl_module.predict(task.x_test).mean - task.y_test).square().mean().sqrt() for task in seen]
            self.rows.append([float(error) for error in errors])
