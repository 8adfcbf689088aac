"""Streams that are made up: the toy series and the two moons."""

import pytest
import torch
from gpytorch.likelihoods import BernoulliLikelihood

from datamodules import Toy, TwoMoons
from datamodules.toy import Kind
from gpvae import OnlineGP
from gpvae.inducing import CosS, FouT, InducingVariables, LagT, LegS, LegSPath, LegT
from tests.toys import gaussian, rbf


def errors(stream: Toy, gp: OnlineGP) -> list[float]:
    """The root mean squared error on the test points of each task, after the last."""
    for task in range(stream.num_tasks):
        gp.update(*stream.task_data(task))
    return [float((gp.predict(task.x_test).mean - task.y_test).square().mean().sqrt()) for task in stream.tasks]


@pytest.mark.parametrize("family", [LegS, CosS])
@pytest.mark.parametrize("num_inducing", [20, 30])
def test_a_measure_over_the_whole_past_remembers(family: type[InducingVariables], num_inducing: int) -> None:
    stream = Toy("figure_f4")
    stream.setup()
    assert max(errors(stream, OnlineGP(family(num_inducing), rbf(0.25, 1.0), gaussian(0.01)))) < 0.15


@pytest.mark.filterwarnings("ignore:.*LagT variables are too few", "ignore:squared residuals")
@pytest.mark.parametrize("family", [LegT, LagT, FouT])
@pytest.mark.parametrize("num_inducing", [20, 30])
def test_a_measure_over_the_recent_past_forgets(family: type[InducingVariables], num_inducing: int) -> None:
    stream = Toy("figure_f4")
    stream.setup()
    assert errors(stream, OnlineGP(family(num_inducing), rbf(0.25, 1.0), gaussian(0.01)))[0] > 0.4


@pytest.mark.parametrize(("kind", "num_tasks", "num"), [("figure_1", 2, 60), ("figure_f4", 3, 240)])
def test_series(kind: Kind, num_tasks: int, num: int) -> None:
    stream = Toy(kind, num_tasks=num_tasks)
    x, y = stream.read()
    assert x.shape == (num, 1)
    assert y.shape == (num,)
    assert x.dtype == y.dtype == torch.float64
    assert (float(x.min()), float(x.max())) == (0.0, 3.0)
    assert float(y.abs().max()) < 3
    assert torch.equal(y, Toy(kind, seed=5).read()[1])
    for seed in range(10):
        Toy(kind, num_tasks=num_tasks, seed=seed).setup()  # test points in every task
        Toy(kind, seed=seed).setup()


def test_moons_come_from_left_to_right() -> None:
    stream = TwoMoons()
    stream.setup()
    assert [len(task.x_train) for task in stream.tasks] == [100] * 3
    first = torch.cat([task.x_train for task in stream.tasks])[:, 0]
    assert torch.equal(first, first.sort().values)
    labels = torch.cat([task.y_train for task in stream.tasks])
    assert labels.unique().tolist() == [0.0, 1.0]
    assert labels.dtype == torch.float64
    assert torch.equal(stream.read()[0], TwoMoons(seed=3).read()[0])


def test_moons_can_be_told_apart() -> None:
    stream = TwoMoons()
    stream.setup()
    gp = OnlineGP(LegSPath(20), rbf(0.5, 5.0), BernoulliLikelihood())
    for task in range(3):
        gp.update(*stream.task_data(task))
    for data in stream.tasks:
        assert torch.equal(gp.predict(data.x_test).mean > 0.5, data.y_test == 1)


def test_moons_refuse_what_they_cannot_be_made_of() -> None:
    with pytest.raises(ValueError, match="num_points is 1"):
        TwoMoons(num_points=1)
    for noise in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="noise is"):
            TwoMoons(noise=noise)
