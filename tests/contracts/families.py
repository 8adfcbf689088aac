"""The families under test. To test a new one, add an entry to `FAMILIES`."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.inducing import (
    ChosenCosines,
    CosS,
    FourierFeatures,
    FouT,
    InducingVariables,
    LagT,
    LegS,
    LegSPath,
    LegSRecurrence,
    LegT,
    PerDimPoints,
    PivotedPoints,
    Points,
)
from tests import oracle
from tests.contracts.kernels import MATERN, OVER_SPACE, OVER_TIME, KernelCase

M = 6
#: A period that some variables are modulated by.
PERIOD = 0.8


def stream(dim: int) -> list[Tensor]:
    """The inputs of three tasks."""
    rng = np.random.default_rng(dim)
    if dim > 1:
        return [torch.from_numpy(rng.uniform(-1, 1, (12, dim))) for _ in range(3)]
    ends = (0.2, 1.3, 2.1, 3.0)
    tasks = [np.append(np.sort(rng.uniform(low, high, 11)), high) for low, high in pairwise(ends)]
    tasks[0][0] = ends[0]
    return [torch.from_numpy(task)[:, None] for task in tasks]


def queries(dim: int) -> Tensor:
    """Random inputs within, after and before those of the stream."""
    rng = np.random.default_rng(100 + dim)
    low, high = (-2.0, 6.0) if dim == 1 else (-3.0, 3.0)
    return torch.from_numpy(rng.uniform(low, high, (24, dim)))


@dataclass(frozen=True)
class Seen:
    """The input of an oracle: the tasks so far, the kernel, and the family, for the points that it has chosen."""

    tasks: list[np.ndarray]
    terms: list[oracle.Term]
    family: InducingVariables
    latent: int


@dataclass(frozen=True)
class Family:
    """A family and what the tests need to know of it.

    Attributes:
        make: Makes a new instance.
        kernels: Kernels that it supports.
        judge: Makes the same variables of the oracle.
        errors: Maximum error with respect to the oracle, relative to the largest entry, by the kernel's smoothness ν.
        closer: Makes an instance with more random frequencies and smaller steps, whose error must be smaller.
        remembers_kernel: The hyperparameters that cannot change after some tasks:
            "" none, "lengthscale" after the second task, "all" after the first.
    """

    make: Callable[[], InducingVariables]
    kernels: tuple[KernelCase, ...]
    judge: Callable[[Seen], oracle.Variables]
    errors: Mapping[float, float]
    closer: Callable[[], InducingVariables] | None = None
    remembers_kernel: str = ""

    @property
    def name(self) -> str:
        return type(self.make()).__name__


def points(seen: Seen) -> oracle.Variables:
    Z = seen.family.Z.detach().numpy()
    return oracle.Values(Z[seen.latent] if Z.ndim == 3 else Z, np.eye(M))


def over_time(name: str, seen: Seen) -> oracle.Variables:
    first = seen.tasks[0]
    start, end = first.min(), max(task.max() for task in seen.tasks)
    return oracle.Projection(name, M, start, end, first.max() - first.min())


def chosen(seen: Seen) -> oracle.Variables:
    """The horizon is the length of the first task, and doubles as often as the stream needs."""
    start, end = seen.tasks[0].min(), max(task.max() for task in seen.tasks)
    horizon = seen.tasks[0].max() - start
    while start + horizon < end:
        horizon *= 2
    picked = seen.family.chosen
    numbers = (picked[seen.latent] if picked.ndim == 2 else picked).tolist()
    return oracle.Modulated("CosS", M, start, start + horizon, period=PERIOD, chosen=tuple(numbers))


def composed(seen: Seen) -> oracle.Variables:
    """Four cosines over the whole past, two polynomials over a window of 0.7."""
    start, end = seen.tasks[0].min(), max(task.max() for task in seen.tasks)
    return oracle.Concatenated(
        [oracle.Projection("CosS", 4, start, end), oracle.Projection("LegT", 2, start, end, 0.7)]
    )


def along_path(seen: Seen) -> oracle.Variables:
    return oracle.path(np.concatenate(seen.tasks), M)


def waves(seen: Seen) -> oracle.Variables:
    return oracle.Waves(M, -1.0, 4.0, seen.terms[0])


EXACT = dict.fromkeys((0.5, 1.5, 2.5, math.inf), 1e-10)
#: Gauss-Legendre nodes of a kernel with a kink (in its 2ν-th derivative) where both inputs meet.
QUADRATURE = {0.5: 1e-3, 1.5: 3e-6, 2.5: 1e-8, math.inf: 1e-10}
#: 128 random frequencies against the exact kernel: the Monte-Carlo error of 1.2 standard deviations of R^-1/2.
RANDOM = dict.fromkeys((0.5, 1.5, 2.5, math.inf), 1.2 / math.sqrt(128))
#: Plain random frequencies and steps of the ODE, as in the paper.
STEPPED = {0.5: 0.15, 1.5: 0.15, 2.5: 0.15, math.inf: 0.15}

FAMILIES = [
    Family(lambda: Points(M), OVER_TIME + OVER_SPACE, points, EXACT),
    Family(lambda: PivotedPoints(M), OVER_TIME + OVER_SPACE, points, EXACT),
    Family(lambda: PerDimPoints(M), OVER_TIME + OVER_SPACE, points, EXACT),
    Family(lambda: FourierFeatures(M, -1.0, 4.0), MATERN, waves, EXACT, remembers_kernel="all"),
    Family(lambda: LegS(M), OVER_TIME, partial(over_time, "LegS"), QUADRATURE),
    Family(lambda: CosS(M), OVER_TIME, partial(over_time, "CosS"), QUADRATURE),
    Family(lambda: ChosenCosines(M, periods=[PERIOD]), OVER_TIME, chosen, QUADRATURE),
    Family(lambda: CosS(4) + LegT(2, window=0.7), OVER_TIME, composed, QUADRATURE),
    Family(lambda: LegT(M), OVER_TIME, partial(over_time, "LegT"), QUADRATURE),
    Family(lambda: LagT(M), OVER_TIME, partial(over_time, "LagT"), QUADRATURE),
    Family(lambda: FouT(M), OVER_TIME, partial(over_time, "FouT"), QUADRATURE),
    Family(
        lambda: LegSPath(M, num_frequencies=128),
        OVER_TIME + OVER_SPACE,
        along_path,
        RANDOM,
        closer=lambda: LegSPath(M, num_frequencies=4096),
        remembers_kernel="lengthscale",
    ),
    Family(
        lambda: LegSRecurrence(M, dt=0.05, num_frequencies=512, pairing="features"),
        OVER_TIME,
        partial(over_time, "LegS"),
        STEPPED,
        closer=lambda: LegSRecurrence(M, dt=0.01, num_frequencies=8192, pairing="features"),
        remembers_kernel="lengthscale",
    ),
]


@dataclass(frozen=True)
class Case:
    """A family, a kernel that it supports, and whether the kernel has a batch axis of latent dimensions."""

    family: Family
    kernel: KernelCase
    batch: bool

    def __str__(self) -> str:
        return f"{self.family.name}-{self.kernel.name}{'-batch' if self.batch else ''}"

    def build(self, num_tasks: int = 3) -> tuple[InducingVariables, Kernel]:
        """The family after some tasks, and the kernel, frozen."""
        kernel = self.kernel.build(self.batch).requires_grad_(False)
        family = self.family.make()
        for x in stream(self.kernel.dim)[:num_tasks]:
            family.advance(kernel, x)
        return family, kernel

    @property
    def latent(self) -> int:
        """The latent dimension to compare with the oracle: the last of a batch."""
        return 2 if self.batch else 0

    def judge(self, family: InducingVariables, num_tasks: int = 3) -> tuple[oracle.Variables, oracle.Covariance]:
        """The oracle's variables and covariance function for that latent dimension."""
        tasks = [x.numpy() for x in stream(self.kernel.dim)[:num_tasks]]
        terms = self.kernel.terms(self.latent)
        return self.family.judge(Seen(tasks, terms, family, self.latent)), oracle.covariance(terms)


CASES = [Case(family, kernel, batch) for family in FAMILIES for kernel in family.kernels for batch in (False, True)]
