"""`StreamingGP` on a second device: every way of learning gives the results of the CPU."""

from typing import Any

import pytest
import torch
from torch import nn

from datamodules import Toy, TwoMoons
from gpvae.modules import StreamingGP
from tests.device.learning import assert_same, learn, trainer
from tests.device.second_device import NAME

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec"),
]
LEARNERS: dict[str, dict[str, Any]] = {
    "OnePass": {"method": "OHSGPR"},
    "OnePass of two families": {"method": "auto"},
    "Collapsed, points": {"method": "OSGPR", "hyperparameters": "fixed"},
    "Collapsed, kernel": {"method": "OHSGPR", "hyperparameters": "train_always"},
    "FreeForm": {"method": "OHSVGP", "hyperparameters": "train_first_task"},
    "FreeForm, points": {"method": "OSVGP"},
    "WholeTask": {"method": "OHSGPR", "hyperparameters": "bank", "bank_size": 4},
}


def toy() -> Toy:
    return Toy("figure_1", num_tasks=2, steps_per_epoch=None)


def learnt(options: dict[str, Any], device: str) -> tuple[StreamingGP, dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    options = {"num_inducing": 8, "lengthscale": 0.4, "lr": 0.02, **options}
    module = StreamingGP(**options)
    moons = options.get("likelihood") == "bernoulli"
    data = TwoMoons(num_tasks=2, num_points=60, num_test=20) if moons else toy()
    return module, learn(module, data, device)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner(learner: str) -> None:
    (_, expected), (_, ours) = (learnt(LEARNERS[learner], device) for device in ("cpu", NAME))
    assert_same(ours, expected, 1e-6)


def test_labels_in_two_dimensions() -> None:
    options = {"method": "OVC", "likelihood": "bernoulli", "input_dim": 2, "hyperparameters": "fixed"}
    (_, expected), (_, ours) = (learnt(options, device) for device in ("cpu", NAME))
    assert_same(ours, expected, 1e-6)


def test_predictions() -> None:
    module, _ = learnt(LEARNERS["OnePass"], "cpu")
    data, found = toy(), {}
    for device in ("cpu", NAME):
        run = trainer(device, data)
        found[device] = [batch for task in run.predict(module, datamodule=data) for batch in task]
    for ours, expected in zip(found[NAME], found["cpu"], strict=True):
        torch.testing.assert_close(ours["mean"].cpu(), expected["mean"], rtol=1e-9, atol=1e-9)


def stale(self: StreamingGP) -> list[nn.Parameter]:
    """A mutant: the list of parameters is made when it is asked for first, in the constructor."""
    if "_kept" not in self.__dict__:
        object.__setattr__(self, "_kept", [*self.learner.parameters(), *self._trained_by_gradients(task=0)])
    return self._kept


@pytest.mark.parametrize("learner", ["Collapsed, points", "FreeForm"])
def test_a_stale_list_of_parameters_is_caught(learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parameters from before `.to()` are trained, and nothing is learnt: the test above fails."""
    monkeypatch.setattr(StreamingGP, "_optimised", property(stale))
    with pytest.raises((AssertionError, RuntimeError)):
        test_every_learner(learner)
