"""The module learns what the library learns from the same data."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from torch import Tensor

from datamodules import Toy, TwoMoons
from gpvae import Bank, ResolutionWarning
from gpvae.methods import METHODS, build_families, build_kernel, find_method
from gpvae.modules import StreamingGP
from gpvae.modules.learners import Collapsed, FreeFormLearner, OnePass
from tests.modules.learning import KERNEL, learn, library, moments

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec"),
]
SIZE = 9
#: Fourier features require the interval of the stream in advance.
ENDS = {"OVFF": {"start": 0.0, "end": 3.0}}


def module(method: str, **options: Any) -> StreamingGP:
    gaussian = options.get("likelihood", "gaussian") == "gaussian"
    if method in ENDS:
        options.setdefault("inducing_options", ENDS[method])
    fixed: dict[str, Any] = {"hyperparameters": "fixed", **KERNEL, **({"noise": 0.02} if gaussian else {})}
    return StreamingGP(method, SIZE, **{**fixed, **options})


def toy(**options: Any) -> Toy:
    return Toy("figure_1", num_tasks=2, **options)


def moons(**options: Any) -> TwoMoons:
    return TwoMoons(num_tasks=2, num_points=80, num_test=20, **options)


def assert_close(a: Tensor, b: Tensor, tolerance: float = 1e-9) -> None:
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


CLOSED = [name for name in METHODS if name not in ("OSGPR", "OSVGP", "OVC-optZ", "OHSVGP", "Points", "FourierFeatures")]


@pytest.mark.parametrize("batches", [{}, {"batch_size": 5}, {"batch_size": 8, "epochs_per_task": 2}], ids=str)
@pytest.mark.parametrize("method", CLOSED)
def test_closed_form(method: str, batches: dict[str, int]) -> None:
    learner = module(method)
    assert isinstance(learner.learner, OnePass)
    data = toy(**batches)
    learn(learner, data)
    assert int(learner.learned) == 2
    expected = library(method, SIZE, data, family_options=ENDS.get(method))
    assert_close(moments(learner, data), moments(expected, data))


@pytest.mark.parametrize("method", ["OSGPR", "OVC-optZ", "Points"])
def test_trained_points(method: str) -> None:
    """The library keeps the best iterate; with a small learning rate this is the last one, which the module keeps."""
    learner, data = module(method, lr=1e-3), toy(steps_per_epoch=6)
    assert isinstance(learner.learner, Collapsed)
    learn(learner, data)
    assert_close(moments(learner, data), moments(library(method, SIZE, data, steps=6, lr=1e-3), data), 1e-7)


@pytest.mark.parametrize("method", ["OHSGPR", "OSGPR"])
def test_trained_hyperparameters(method: str) -> None:
    learner, data = module(method, lr=1e-3, hyperparameters="train_always"), toy(steps_per_epoch=6)
    learn(learner, data)
    expected = library(method, SIZE, data, steps=6, lr=1e-3, train_hyperparameters=True)
    assert_close(moments(learner, data), moments(expected, data), 1e-7)


@pytest.mark.parametrize("method", ["OHSVGP", "OVC", "OVC-per-dim"])
def test_free_form_of_labels(method: str) -> None:
    learner = module(method, likelihood="bernoulli", input_dim=2, lr=0.01, inference="free_form")
    data = moons(steps_per_epoch=8)
    assert isinstance(learner.learner, FreeFormLearner)
    learn(learner, data)
    expected = library(method, SIZE, data, "bernoulli", steps=8, lr=0.01)
    assert_close(moments(learner, data), moments(expected, data), 1e-7)


@pytest.mark.parametrize("method", ["OHSGPR", "OVC"])
def test_natural_gradients_of_labels(method: str) -> None:
    learner = module(method, likelihood="bernoulli", input_dim=2, inference="collapsed")
    assert isinstance(learner.learner, Collapsed)
    data = moons()
    learn(learner, data)
    assert_close(moments(learner, data), moments(library(method, SIZE, data, "bernoulli"), data), 1e-7)


@pytest.mark.parametrize(("method", "learner"), [("CosS", Collapsed), ("OVC", Collapsed), ("OHSVGP", FreeFormLearner)])
@pytest.mark.parametrize("likelihood", ["bernoulli", "poisson"])
def test_an_optimum_is_the_default_unless_the_method_says_otherwise(
    method: str, learner: type, likelihood: str
) -> None:
    assert isinstance(StreamingGP(method, SIZE, likelihood=likelihood).learner, learner)


@pytest.mark.parametrize(("options", "few"), [({}, True), ({"inference": "collapsed"}, False)])
def test_few_steps_of_adam_are_reported(options: dict[str, str], few: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        learn(module("OHSVGP", **options), toy(steps_per_epoch=8 if few else None))
    assert ("trained by 8 step(s) of Adam" in caplog.text) == few


def test_free_form_of_values_nears_the_closed_form() -> None:
    best, data = learn(module("OHSGPR"), toy()), toy(steps_per_epoch=200)
    learner = learn(module("OHSVGP", lr=0.03), data)
    assert float(learner.gp.bound()) == pytest.approx(float(best.gp.bound()), abs=0.1)
    x = torch.cat([task.x_test for task in data.tasks])
    assert (learner.predict(x).mean - best.predict(x).mean).abs().max() < 0.05


def test_auto_answers_with_the_better_bound() -> None:
    learner, data = learn(module("auto"), toy()), toy()
    data.setup()
    bounds = [float(posterior.site.log_evidence()) for posterior in learner.gp.posteriors]
    assert len(bounds) == 2
    assert float(learner.gp.bound()) == pytest.approx(max(bounds), rel=1e-9)
    for options in ({"inference": "free_form"}, {"hyperparameters": "train_first_task"}, {"likelihood": "bernoulli"}):
        with pytest.raises(ValueError, match="families can be compared in closed form only"):
            module("auto", **options)


@pytest.mark.parametrize("method", ["CosS", "OVC", "auto"])
@pytest.mark.parametrize("batches", [{}, {"batch_size": 5}], ids=str)
def test_bank(method: str, batches: dict[str, int]) -> None:
    """The module learns what `Bank` learns; minibatches make no difference."""
    learner, data = StreamingGP(method, SIZE, hyperparameters="bank", bank_size=6), toy(**batches)
    learn(learner, data)
    families = build_families(find_method(method).family, SIZE, 1, 0, {})
    bank = Bank(families, build_kernel("rbf", 1), GaussianLikelihood(), size=6, mean=ZeroMean())
    for task in range(2):
        bank.update(*data.task_data(task))
    assert learner.gp.num_members == 6
    assert_close(moments(learner, data), moments(bank, data))
    assert_close(learner.gp.weights, bank.weights)


def test_bank_of_labels() -> None:
    options: dict[str, Any] = {"likelihood": "bernoulli", "input_dim": 2, "hyperparameters": "bank", "bank_size": 4}
    learner, data = StreamingGP("OVC", SIZE, **options), moons()
    learn(learner, data)
    assert float(learner.gp.weights.sum()) == pytest.approx(1)


def test_what_a_bank_refuses() -> None:
    with pytest.raises(ValueError, match="bank_size=6 was given"):
        module("CosS", bank_size=6)
    for options in ({"method": "OSGPR"}, {"method": "CosS", "inference": "free_form"}):
        with pytest.raises(ValueError, match="a bank learns in closed form"):
            StreamingGP(**options, num_inducing=4, hyperparameters="bank")


def kernel_values(learner: StreamingGP) -> Tensor:
    parts = [*learner.gp.kernel.parameters(), *learner.gp.likelihood.parameters()]
    return torch.cat([part.detach().reshape(-1) for part in parts])


@pytest.mark.parametrize(
    ("mode", "first", "second"),
    [
        ("fixed", False, False),
        ("fit_first_task", True, False),
        ("train_first_task", True, False),
        ("train_always", True, True),
    ],
)
def test_when_hyperparameters_change(mode: str, first: bool, second: bool) -> None:
    data = toy(steps_per_epoch=3)
    data.setup()
    learner = module("OSVGP", hyperparameters=mode)
    values = [kernel_values(learner)]
    for stop_after in (1, 2):
        learner = module("OSVGP", hyperparameters=mode)
        learn(learner, toy(steps_per_epoch=3, stop_after=stop_after))
        values.append(kernel_values(learner))
    assert (not torch.equal(values[0], values[1])) == first
    assert (not torch.equal(values[1], values[2])) == second


def test_hyperparameters_are_plain() -> None:
    """So that checkpoints load with `weights_only`."""
    learner = module("OHSGPR", inducing_options={"origin": 0.0})
    flat = [value for value in learner.hparams.values() if not isinstance(value, dict)]
    flat += learner.hparams["inducing_options"].values()
    assert all(value is None or type(value) in (bool, int, float, str) for value in flat)


@pytest.mark.parametrize("method", ["OHSGPR", "OSGPR", "OHSVGP", "auto", "OVFF", "OVC-per-dim", "LegSPath"])
def test_moves_whole(method: str) -> None:
    learner, data = module(method), toy(steps_per_epoch=None)
    learn(learner, data)
    moved = learner.to("meta")
    tensors = [*moved.parameters(), *moved.buffers()]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    held = [value for part in moved.gp.modules() for value in vars(part).values() if isinstance(value, Tensor)]
    assert not [value for value in held if value.device.type != "meta"]


def test_what_cannot_follow_the_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match="LegSPath does not support a kernel that changes after the first task"):
        module("LegSPath", hyperparameters="train_always")


def test_part_of_a_task_is_refused_where_all_is_needed() -> None:
    with pytest.raises(ValueError, match=r"a step received 5 of the 22 points .* set batch_size to null"):
        learn(module("OSGPR"), toy(batch_size=5, num_test=16))


@pytest.mark.parametrize(("num_tasks", "num_warnings"), [(1, 1), (2, 2), (3, 2)])
def test_too_few_variables_are_warned_about_at_first_and_at_the_end(num_tasks: int, num_warnings: int) -> None:
    """Not in the name of Lightning, which would print the path of its own file before them."""
    with pytest.warns(ResolutionWarning) as caught:
        learn(
            StreamingGP("CosS", 2, hyperparameters="fixed", lengthscale=0.05, noise=0.001),
            Toy("figure_1", num_tasks=num_tasks),
        )
    files = [Path(found.filename).name for found in caught if found.category is ResolutionWarning]
    assert files == ["streaming_gp.py"] * num_warnings


def test_natural_gradients_go_on_with_the_same_bits_in_a_run_resumed_within_a_task() -> None:
    """They start from the sites of the points at the step before, which the state has until the task ends."""
    x = torch.linspace(0, 5, 40, dtype=torch.float64)[:, None]
    y = torch.poisson(torch.sin(x[:, 0]).exp(), generator=torch.Generator().manual_seed(0))

    def build() -> StreamingGP:
        gp = StreamingGP("OSGPR", 6, likelihood="poisson", inference="collapsed", hyperparameters="train_first_task")
        gp.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
        return gp

    def train(gp: StreamingGP, optimiser: torch.optim.Optimizer) -> float:
        optimiser.zero_grad()
        loss = gp.training_step((x, y, torch.arange(len(x))), 0)
        assert loss is not None
        loss.backward()
        optimiser.step()
        return loss.item()

    whole, resumed = build(), build()
    whole.begin_task(x, y)
    (optimiser,) = whole.configure_optimizers()  # type: ignore[misc,union-attr]
    for _ in range(5):
        train(whole, optimiser)
    resumed.load_state_dict({name: value.clone() for name, value in whole.state_dict().items()})
    resumed.attach_task(x, y)
    (other,) = resumed.configure_optimizers()  # type: ignore[misc,union-attr]
    other.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    assert [train(whole, optimiser) for _ in range(3)] == [train(resumed, other) for _ in range(3)]
    whole.end_task()
    assert all(value.numel() == 0 for value in whole.learner.state_dict().values())
    former = {name: value for name, value in whole.state_dict().items() if not name.startswith("learner.")}
    build().load_state_dict(former)  # of a version that did not save them
