"""What the tests on real data share: a kernel fitted to the first task, and a stream run through with it."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import gpytorch
import torch

import gpvae
from datamodules.splits import Task


@contextmanager
def one_thread() -> Iterator[None]:
    """Small matrices in several test processes gain nothing from more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def fitted(task: Task, ard: bool = False) -> gpvae.OnlineGP:
    """A model whose hyperparameters an exact GP has found on the first task."""
    dims = task.x_train.shape[-1] if ard else None
    gp = gpvae.OnlineGP(
        gpvae.inducing.LegS(10),
        gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=dims)),
        gpytorch.likelihoods.GaussianLikelihood(),
        mean=gpytorch.means.ZeroMean(),
    )
    return gp.fit_hyperparameters(task.x_train, task.y_train)


def final_nlpd(
    inducing: gpvae.inducing.InducingVariables | str,
    model: gpvae.OnlineGP,
    tasks: list[Task],
    num_inducing: int | None = None,
    power: float = 0.0,
) -> float:
    """Test NLPD over all tasks after the last, with the hyperparameters of `model`."""
    gp = gpvae.OnlineGP(
        inducing,
        copy.deepcopy(model.kernel),
        copy.deepcopy(model.likelihood),
        mean=gpytorch.means.ZeroMean(),
        num_inducing=num_inducing,
        power=power,
    )
    for task in tasks:
        gp.update(task.x_train, task.y_train)
    x_test = torch.cat([task.x_test for task in tasks])
    y_test = torch.cat([task.y_test for task in tasks])
    return -float(gp.predict(x_test).log_prob(y_test).mean())
