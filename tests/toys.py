"""Small kernels, streams and families of inducing variables that many tests share."""

import math
from collections.abc import Callable

import pytest
import torch
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from torch import Tensor

from gpvae import OnlineGP
from gpvae.inducing import (
    ChosenCosines,
    Composed,
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

#: Every family, by name, for streams on [0, 3] and a Matérn kernel, which Fourier features require.
FAMILIES: dict[str, Callable[[int], InducingVariables]] = {
    "ChosenCosines": lambda m: ChosenCosines(m, periods=[0.8]),
    "Composed": lambda m: CosS(m - m // 2) + PivotedPoints(m // 2) if m > 1 else Composed(CosS(1)),
    "CosS": CosS,
    "FourierFeatures": lambda m: FourierFeatures(m, -1.0, 5.0),
    "FouT": FouT,
    "LagT": LagT,
    "LegS": LegS,
    "LegSPath": lambda m: LegSPath(m, num_frequencies=128),
    "LegSRecurrence": lambda m: LegSRecurrence(m, dt=0.05, num_frequencies=128, pairing="features"),
    "LegT": LegT,
    "PerDimPoints": PerDimPoints,
    "PivotedPoints": PivotedPoints,
    "Points": lambda m: Points(m, trainable=False),
}

#: Families over the whole past whose variables are function values or integrals of them.
WHOLE_PAST = ("CosS", "LegS", "PivotedPoints", "Points")


def matern(lengthscale: float = 0.5, variance: float = 1.3, nu: float = 1.5) -> ScaleKernel:
    """A scaled Matérn kernel in float64."""
    kernel = ScaleKernel(MaternKernel(nu=nu)).double()
    kernel.base_kernel.lengthscale, kernel.outputscale = lengthscale, variance
    return kernel


def rbf(lengthscale: float = 0.5, variance: float = 1.3, **options: object) -> ScaleKernel:
    """A scaled RBF kernel in float64."""
    kernel = ScaleKernel(RBFKernel(**options)).double()
    kernel.base_kernel.lengthscale, kernel.outputscale = lengthscale, variance
    return kernel


def gaussian(noise: float = 0.1) -> GaussianLikelihood:
    """A Gaussian likelihood in float64."""
    likelihood = GaussianLikelihood().double()
    likelihood.noise = noise
    return likelihood


def wave(num: int = 60, seed: int = 0, end: float = 3.0, noise: float = 0.1) -> tuple[Tensor, Tensor]:
    """Sorted inputs `[N, 1]` on [0, end] and noisy values of a wave `[N]`."""
    rng = torch.Generator().manual_seed(seed)
    x = torch.rand(num, generator=rng, dtype=torch.float64).sort().values * end
    x[0] = 0.0
    y = torch.sin(2.5 * x) + 0.4 * torch.cos(7 * x + 1)
    return x[:, None], y + math.sqrt(noise) * torch.randn(num, generator=rng, dtype=torch.float64)


def tasks(num_tasks: int = 3, num: int = 60, seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """The wave in tasks of equal size, in order of time."""
    x, y = wave(num, seed)
    return list(zip(x.chunk(num_tasks), y.chunk(num_tasks), strict=True))


def model(inducing: InducingVariables | list[InducingVariables] | str, **options: object) -> OnlineGP:
    """An OnlineGP with the Matérn kernel and Gaussian noise."""
    return OnlineGP(inducing, matern(), gaussian(), mean=ZeroMean(), **options)


def states_equal(before: dict[str, Tensor], after: dict[str, Tensor]) -> bool:
    """Whether two state dicts agree bit for bit; NaN equals NaN."""
    return before.keys() == after.keys() and all(
        v.shape == after[k].shape and torch.equal(v.nan_to_num(nan=1e99), after[k].nan_to_num(nan=1e99))
        if v.is_floating_point()
        else torch.equal(v, after[k])
        for k, v in before.items()
    )


def snapshot(module: torch.nn.Module) -> dict[str, Tensor]:
    """A copy of a module's state."""
    return {name: value.clone() for name, value in module.state_dict().items()}


def assert_refused(
    gp: OnlineGP, action: Callable[[], object], message: str | None, error: type[BaseException] = ValueError
) -> None:
    """Assert that an action raises an error with this message, and leaves the model as it was."""
    before = snapshot(gp)
    gradients = [p.requires_grad for p in gp.parameters()]
    with pytest.raises(error, match=message):
        action()
    assert states_equal(before, snapshot(gp))
    assert gradients == [p.requires_grad for p in gp.parameters()]
