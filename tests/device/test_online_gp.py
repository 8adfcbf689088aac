"""`OnlineGP` and `Bank` on a second device: every family with every likelihood learns and predicts as on the CPU."""

import io
from collections.abc import Callable

import pytest
import torch
from gpytorch.likelihoods import (
    BernoulliLikelihood,
    LaplaceLikelihood,
    Likelihood,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
    StudentTLikelihood,
)
from torch import Tensor

from gpvae import Bank, OnlineGP
from gpvae.inducing import Points
from tests.device.second_device import NAME
from tests.toys import FAMILIES, gaussian, matern, rbf, tasks

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning"),
]
M = 6
LIKELIHOODS: dict[str, Callable[[], Likelihood]] = {
    "gaussian": gaussian,
    "student_t": StudentTLikelihood,
    "laplace": LaplaceLikelihood,
    "bernoulli": BernoulliLikelihood,
    "poisson": PoissonLikelihood,
    "negative_binomial": NegativeBinomialLikelihood,
}


def targets(likelihood: str, y: Tensor) -> Tensor:
    """The wave as targets of a likelihood."""
    if likelihood == "bernoulli":
        return (y > 0).double()
    return (2 * y).exp().round() if likelihood in ("poisson", "negative_binomial") else y


def on_both(learnt: Callable[[str], tuple[Tensor, ...]], tolerance: float = 1e-8) -> None:
    """Assert that results on both devices agree."""
    for ours, expected in zip(learnt(NAME), learnt("cpu"), strict=True):
        assert ours.device.type == NAME
        torch.testing.assert_close(ours.cpu(), expected, rtol=tolerance, atol=tolerance)


#: Natural gradients take many steps with this likelihood.
MANY_STEPS = "laplace"
PAIRS = [
    pytest.param(family, likelihood, marks=[pytest.mark.slow] if slow else [], id=f"{family}-{likelihood}")
    for family in FAMILIES
    for likelihood in LIKELIHOODS
    for slow in [likelihood == MANY_STEPS and family != "LegSPath"]
]


@pytest.mark.parametrize(("family", "likelihood"), PAIRS)
def test_every_family_and_likelihood(family: str, likelihood: str) -> None:
    def learnt(device: str) -> tuple[Tensor, ...]:
        gp = OnlineGP(FAMILIES[family](M), matern(), LIKELIHOODS[likelihood]().double()).to(device)
        for x, y in tasks(2, 16):
            gp.update(x.to(device), targets(likelihood, y).to(device))
        x = torch.linspace(0, 3.5, 7, dtype=torch.float64, device=device)[:, None]
        predicted = gp.predict(x)
        return predicted.mean, predicted.variance, gp.latent(x).mean, gp.bound()

    on_both(learnt)


def test_hyperparameters_points_one_by_one_and_samples() -> None:
    def learnt(device: str) -> tuple[Tensor, ...]:
        gp = OnlineGP(FAMILIES["CosS"](M), rbf(), gaussian(), buffer_size=4).to(device)
        (x, y), (more_x, more_y) = ([part.to(device) for part in task] for task in tasks(2, 24))
        gp.fit_hyperparameters(x, y)
        gp.update(x, y)
        for point, value in zip(more_x[:6], more_y[:6], strict=True):
            gp.update(point[None], value[None])
        drawn = gp.sample(x, 3)
        assert drawn.device.type == device
        return gp.kernel.outputscale, gp.predict(x).mean, gp.predict(x).icdf(torch.tensor(0.9, device=device).double())

    on_both(learnt, 1e-5)


def test_trained_points() -> None:
    def learnt(device: str) -> tuple[Tensor, ...]:
        gp = OnlineGP(Points(M), rbf(), gaussian()).to(device)
        for x, y in tasks(2, 16):
            gp.update(x.to(device), y.to(device), steps=5, train_hyperparameters=True)
        return gp.predict(x.to(device)).mean, gp.inducing.Z.detach()

    on_both(learnt, 1e-6)


@pytest.mark.parametrize("likelihood", ["gaussian", "poisson"])
def test_bank(likelihood: str) -> None:
    def learnt(device: str) -> tuple[Tensor, ...]:
        bank = Bank(FAMILIES["CosS"](M), rbf(), LIKELIHOODS[likelihood]().double(), size=4).to(device)
        for x, y in tasks(2, 16):
            bank.update(x.to(device), targets(likelihood, y).to(device))
        predicted = bank.predict(x.to(device))
        return predicted.mean, predicted.variance

    on_both(learnt, 1e-6)


@pytest.mark.parametrize("family", ["CosS", "LegSPath", "Points"])
def test_a_state_moves_between_devices(family: str) -> None:
    """What was learnt on one device is continued on the other, and ends as if it had stayed."""
    first, second = tasks(2, 16)

    def continued(start: str, end: str) -> Tensor:
        gp = OnlineGP(FAMILIES[family](M), matern(), gaussian()).to(start)
        gp.update(*(part.to(start) for part in first))
        file = io.BytesIO()
        torch.save(gp.state_dict(), file)
        file.seek(0)
        other = OnlineGP(FAMILIES[family](M), matern(), gaussian()).to(end)
        other.load_state_dict(torch.load(file, map_location=end, weights_only=True))
        other.update(*(part.to(end) for part in second))
        return other.predict(second[0].to(end)).mean.cpu()

    expected = continued("cpu", "cpu")
    for start, end in ((NAME, "cpu"), ("cpu", NAME)):
        torch.testing.assert_close(continued(start, end), expected, rtol=1e-8, atol=1e-8)
