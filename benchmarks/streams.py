"""Steps that benchmarks share: fit a kernel to the first task of a stream, learn all tasks, score the test points."""

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.utils.warnings import GPInputWarning, NumericalWarning
from torch import Tensor
from torch.distributions import Normal

from datamodules.splits import Task
from gpvae.diagnostics import MisfitWarning, ResolutionWarning
from gpvae.hyperparameters import HyperparameterWarning
from gpvae.inducing import InducingVariables
from gpvae.kernels import covariance
from gpvae.online_gp import OnlineGP
from gpvae.utils.linalg import JitterWarning, solve_lower

Fitted = tuple[Kernel, GaussianLikelihood]

#: Test points that the exact GP predicts at once.
CHUNK = 1000


def fit(tasks: Sequence[Task], family: InducingVariables, base: type[Kernel] = RBFKernel) -> Fitted:
    """A kernel, with a lengthscale per input dimension, and noise, fitted to the first task."""
    dim = tasks[0].x_train.shape[-1]
    kernel = ScaleKernel(base(ard_num_dims=dim if dim > 1 else None))
    model = OnlineGP(family, kernel, GaussianLikelihood(), mean=ZeroMean())
    with expected_warnings():
        model.fit_hyperparameters(tasks[0].x_train, tasks[0].y_train)
    return model.kernel, model.likelihood


def stream(
    inducing: InducingVariables | Sequence[InducingVariables] | str,
    fitted: Fitted,
    tasks: Sequence[Task],
    **options: float,
) -> OnlineGP:
    """A model that has learnt all tasks, with a copy of a fitted kernel."""
    kernel, likelihood = copy.deepcopy(fitted)
    model = OnlineGP(inducing, kernel, likelihood, mean=ZeroMean(), **options)
    with expected_warnings():
        for task in tasks:
            model.update(task.x_train, task.y_train)
    return model


def test_points(tasks: Sequence[Task]) -> tuple[Tensor, Tensor]:
    """The test points of all tasks."""
    return torch.cat([task.x_test for task in tasks]), torch.cat([task.y_test for task in tasks])


def nlpd(model: OnlineGP, tasks: Sequence[Task]) -> float:
    """Mean negative log predictive density of the test points of all tasks."""
    x, y = test_points(tasks)
    return -float(model.predict(x).log_prob(y).mean())


@torch.no_grad()
def exact_nlpd(fitted: Fitted, tasks: Sequence[Task]) -> float:
    """NLPD of the dense GP on all data, which sparse methods with this kernel approximate."""
    kernel, likelihood = fitted
    x, y = torch.cat([task.x_train for task in tasks]), torch.cat([task.y_train for task in tasks])
    x_test, y_test = test_points(tasks)
    K = covariance(kernel, x, x)
    K.diagonal().add_(likelihood.noise)
    L = torch.linalg.cholesky(K, out=K)
    weights = solve_lower(L, y[:, None])
    densities = []
    for inputs, outputs in zip(x_test.split(CHUNK), y_test.split(CHUNK), strict=True):
        half = solve_lower(L, covariance(kernel, x, inputs))
        variance = kernel(inputs, diag=True) - (half**2).sum(0) + likelihood.noise
        densities.append(Normal((half.mT @ weights)[:, 0], variance.sqrt()).log_prob(outputs))
    return -float(torch.cat(densities).mean())


@contextmanager
def expected_warnings() -> Iterator[None]:
    """Ignore warnings about few inducing variables and small tasks, which benchmarks use on purpose.

    Also those of gpytorch about inducing points that are close to each other, and about predictions at training inputs.
    """
    with warnings.catch_warnings():
        ours = (ResolutionWarning, MisfitWarning, JitterWarning, HyperparameterWarning)
        for kind in (*ours, NumericalWarning, GPInputWarning):
            warnings.simplefilter("ignore", kind)
        yield
