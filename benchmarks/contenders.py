"""Contenders in comparisons of streaming GPs: this package, the paper's recurrence, and gpytorch in several ways.

All have `update(x, y)` and `predict(x)`, and a given kernel that is not trained.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from torch import Tensor
from torch.distributions import Normal

from benchmarks.gpytorch_ovc import GrowingOVC, SparseOVC
from benchmarks.gpytorch_refits import ExactRefit, SVGPRefit, SVGPWarm
from benchmarks.streams import Fitted
from gpvae.inducing import CosS, InducingVariables, LegS, LegSRecurrence, PivotedPoints
from gpvae.online_gp import OnlineGP

OURS = ("LegS", "CosS", "PivotedPoints (OVC)")
RECURRENCE = "paper: bilinear recurrence"
OVC, GROWING = "gpytorch: OVC", "gpytorch: fantasies, growing"
REFIT, WARM, EXACT = "gpytorch: SVGP, refitted", "gpytorch: SVGP, task only", "gpytorch: exact GP"


class Contender(Protocol):
    """A model that learns from a stream."""

    def update(self, x: Tensor, y: Tensor) -> object:
        """Learn a task."""

    def predict(self, x: Tensor) -> Normal:
        """Predictive marginals of y."""


#: Makes a contender with a number of inducing variables and a kernel.
Make = Callable[[int, Fitted], Contender]


def contenders(dt: float = 0.01, steps: int = 300) -> dict[str, Make]:
    """All contenders, by name.

    Args:
        dt: Step of the recurrence, in units of the input.
        steps: Steps of Adam for each fit of an SVGP.
    """

    def online(family: Callable[[int], InducingVariables]) -> Make:
        return lambda num, fitted: OnlineGP(family(num), *copy.deepcopy(fitted), mean=ZeroMean())

    return {
        OURS[0]: online(LegS),
        OURS[1]: online(CosS),
        OURS[2]: online(PivotedPoints),
        RECURRENCE: online(lambda num: LegSRecurrence(num, dt=dt)),
        OVC: lambda num, fitted: SparseOVC(num, *copy.deepcopy(fitted)),
        GROWING: lambda num, fitted: GrowingOVC(num, *copy.deepcopy(fitted)),
        REFIT: lambda num, fitted: SVGPRefit(num, *copy.deepcopy(fitted), steps=steps),
        WARM: lambda num, fitted: SVGPWarm(num, *copy.deepcopy(fitted), steps=steps),
        EXACT: lambda num, fitted: ExactRefit(num, *copy.deepcopy(fitted)),
    }


def given_kernel(lengthscale: float = 1.0, noise: float = 0.01) -> Fitted:
    """A kernel and noise for synthetic streams."""
    kernel, likelihood = ScaleKernel(RBFKernel()).double(), GaussianLikelihood().double()
    kernel.base_kernel.lengthscale, likelihood.noise = lengthscale, noise
    return kernel, likelihood


def wave(num_tasks: int, points: int, extent: float) -> Iterator[tuple[Tensor, Tensor]]:
    """Tasks of a noisy sine over time; the cost does not depend on the values."""
    rng = torch.Generator().manual_seed(0)
    for i in range(num_tasks):
        x = extent / num_tasks * (i + torch.rand(points, 1, dtype=torch.float64, generator=rng).sort(0).values)
        yield x, torch.sin(x[:, 0]) + 0.1 * torch.randn(points, dtype=torch.float64, generator=rng)
