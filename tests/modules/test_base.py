"""What every `ContinualModule` does, whatever it learns."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from datamodules import Toy
from gpvae.modules import ContinualModule, StreamingGP, base
from gpvae.modules.memory import numbers_kept


class Constant(ContinualModule):
    """Predicts one number, with a lead time only if it is told to."""

    def __init__(self, knows_lead_times: bool = True) -> None:
        super().__init__(["nlpd"])
        self.value, self.knows_lead_times = nn.Parameter(torch.zeros(())), knows_lead_times

    def predictive(self, batch: Tensor) -> tuple[Distribution, Tensor]:
        return Normal(self.value.double().expand_as(batch), 1.0), batch

    def lead_time(self, batch: Tensor) -> Tensor | None:
        return torch.ones_like(batch) if self.knows_lead_times else None


@pytest.mark.parametrize(("every", "step", "logged"), [(0, 0, False), (3, 0, False), (3, 2, True)])
def test_several_processes_log_when_the_trainer_does(
    every: int, step: int, logged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `log_every_n_steps` 0, it never does."""
    module, names = Constant(), []
    monkeypatch.setattr(base, "num_processes", lambda: 2)
    module._trainer = SimpleNamespace(global_step=step, log_every_n_steps=every)  # type: ignore[assignment]
    module.log = lambda name, *_, **__: names.append(name)  # type: ignore[method-assign]
    module.log_step({"loss": torch.zeros(())}, prog_bar="loss")
    assert names == ["loss"] * logged


def test_a_process_without_batches_leaves_out_what_others_cannot_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait for them for ever."""
    module = Constant()
    monkeypatch.setattr(module.foresight, "cells", lambda *_: pytest.fail("it waits for the other process"))
    monkeypatch.setattr(base, "sum_over_processes", lambda value: value + 1)  # another process has no lead times
    module.foresee([])
    assert module.last_foresight == []


@pytest.mark.parametrize("known", [False, True])
def test_tasks_are_foreseen_if_lead_times_are_known(known: bool) -> None:
    module = Constant(known)
    module.foresee([torch.zeros(3).double()])
    assert [cell.num_values for cell in module.last_foresight] == [3] * known


@pytest.mark.parametrize(("given", "expected"), [(None, 3), (1, 1), (torch.device("cuda", 2), 2)])
def test_cuda_moves_steps_too(given: torch.device | int | None, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are taken where the state is, by whichever method it was moved."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.nn.Module, "cuda", lambda self, device: self._apply(lambda tensor: tensor))
    module = Constant().cuda(given)
    assert module.device == module.step_device == torch.device("cuda", expected)


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
@pytest.mark.parametrize("bank_size", [None, 4])
def test_precisions_are_counted_as_triangles(bank_size: int | None) -> None:
    data = Toy()
    data.prepare_data()
    data.setup()
    options: dict[str, Any] = {} if bank_size is None else {"hyperparameters": "bank", "bank_size": bank_size}
    module = StreamingGP("CosS", 6, **options)
    module.begin_task(*data.task_data(0))
    if bank_size is None:
        x, y = data.task_data(0)
        module.learner.loss(module.gp, x, y, torch.arange(len(x)))
    module.end_task()
    members = bank_size or 1
    assert numbers_kept(module)["precisions"] == members * 6 * 7 // 2
    assert numbers_kept(module)["means"] == members * (6 + 1)
