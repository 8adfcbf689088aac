"""Classification in closed form, with a Gaussian process for each class (Milios et al. 2018).

A label is treated as an observation of a Dirichlet distribution, with α = 1 + ε for its class and ε for all others.
Each α belongs to a Gamma variable, whose logarithm is nearly normal: it is observed as log α - s²/2 with noise
s² = log(1 + 1/α). So every class is a regression with known noise, which is updated at constant cost and without
iterations. The probabilities of the classes are the mean of the softmax of the processes' predictions.
"""

import copy
from collections.abc import Hashable, Sequence

import torch
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor
from torch.quasirandom import SobolEngine

from gpvae import hyperparameters
from gpvae.estimators.beginning import Beginning
from gpvae.estimators.blueprint import Blueprint
from gpvae.likelihoods import PointLikelihood
from gpvae.online_gp import OnlineGP

#: α of the classes that a point does not belong to.
EPSILON = 0.1
#: Maximum number of points that the kernel is fitted to.
MAX_POINTS = 200
#: Number of draws of the functions over which the softmax is averaged; the same draws for every point.
NUM_DRAWS = 256


def observations(member: Tensor) -> tuple[Tensor, Tensor]:
    """Targets and noise variances of a class.

    Args:
        member: Whether a point belongs to the class.
    """
    alpha = EPSILON + member.double()
    noise = torch.log1p(1 / alpha)
    return alpha.log() - noise / 2, noise


class LabelModel:
    """Gaussian processes for labels. They learn from the first point on, and classes may appear at any time.

    All classes share one kernel. An additional process has learnt that no point belongs to its class; a new class
    starts with a copy of it.

    Args:
        blueprint: The parts of each process; its likelihood is not used.
        input_dim: Number of inputs.
        warm_up: Number of first points to which the kernel is fitted; 0 keeps that of the blueprint.
        classes: Classes that are known from the start.
    """

    def __init__(self, blueprint: Blueprint, input_dim: int, *, warm_up: int, classes: Sequence[Hashable] = ()) -> None:
        self.blueprint, self.input_dim = blueprint, input_dim
        self.beginning = Beginning(warm_up)
        self.classes: list[Hashable] = list(classes)
        self.absent = self.blueprint.build(input_dim)
        self.processes = [copy.deepcopy(self.absent) for _ in self.classes]

    def learn(self, x: Tensor, labels: Sequence[Hashable]) -> None:
        """Learn a batch of inputs `[N, D]` and their labels."""
        for label in labels:
            if label not in self.classes:
                self.classes.append(label)
                self.processes.append(copy.deepcopy(self.absent))
        y = torch.tensor([self.classes.index(label) for label in labels])
        with self.beginning.adding(x, y) as all_points:
            if all_points is None:
                _update([*self.processes, self.absent], x, y)
                return
            x, y = all_points
            absent = self.blueprint.build(self.input_dim)
            if len(y.unique()) > 1:  # one class says little about the kernel
                absent.kernel.load_state_dict(self._fitted_kernel(x, y))
            processes = [copy.deepcopy(absent) for _ in self.classes]
            _update([*processes, absent], x, y)
            self.processes, self.absent = processes, absent

    def _fitted_kernel(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        """The state of the kernel with the highest evidence of all classes together."""
        kernel = self.blueprint.build(self.input_dim).kernel
        some = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:MAX_POINTS]
        members = y[some] == torch.arange(len(self.classes))[:, None]
        targets, noise = observations(members)
        likelihood = PointLikelihood(GaussianLikelihood().double().requires_grad_(False), noise=noise)
        means = targets.mean(-1, keepdim=True)
        hyperparameters.fit(kernel, likelihood, x[some], targets - means)
        return kernel.state_dict()

    @torch.no_grad()
    def probabilities(self, x: Tensor) -> Tensor:
        """Probabilities of the classes at inputs `[N, D]`, `[N, C]`."""
        f = [process.latent(x) for process in self.processes]
        mean, stddev = torch.stack([part.mean for part in f]), torch.stack([part.stddev for part in f])
        draws = SobolEngine(len(f), scramble=True, seed=0).draw(NUM_DRAWS, dtype=mean.dtype)
        z = torch.special.ndtri(draws.clamp(1e-12, 1 - 1e-12))[..., None]
        return (mean + stddev * z).softmax(-2).mean(0).mT


def _update(processes: Sequence[OnlineGP], x: Tensor, y: Tensor) -> None:
    """Update the process of each class with points and the numbers of their classes."""
    for number, process in enumerate(processes):
        targets, noise = observations(y == number)
        process.update(x, targets, noise=noise)
