"""A training step launches few kernels, and waits for none: budgets that a change must not exceed unnoticed."""

import pytest
import torch

from benchmarks.step_cost import SMALL, Steps
from gpvae.modules import finite_losses
from gpvae.vae.networks import Clock
from tests.device.second_device import NAME, Counts, counting

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
#: Launches allowed in a step, by model and task. The number does not depend on the number of series or variables.
LAUNCHES = {
    ("networks of the paper, replay", 1): 265,  # the kernel is trained
    ("networks of the paper, replay", 2): 157,
    ("shipped", 1): 165,
    ("shipped", 2): 198,
}


def counted(steps: Steps, number: int = 1) -> Counts:
    with counting() as counts:
        for _ in range(number):
            steps.step()
    return counts


def started(
    model: str = "networks of the paper, replay",
    task: int = 2,
    *,
    num_inducing: int = 12,
    series: int = 4,
    sizes: tuple[int, int] = SMALL,
) -> Steps:
    return Steps(model, num_inducing, series, device=NAME, sizes=sizes).begin(task)


@pytest.mark.parametrize(("model", "task"), LAUNCHES)
def test_a_step_stays_within_its_budget(model: str, task: int) -> None:
    counts = counted(started(model, task))
    assert counts.launches <= LAUNCHES[model, task]
    assert counts.uploads == counts.host_draws == 0
    trained = (model, task) == ("networks of the paper, replay", 1)
    assert counts.synchronisations <= (1 if trained else 0)


def test_losses_are_read_together() -> None:
    counts = counted(started(), finite_losses.CHECK_EVERY)
    assert counts.synchronisations == 1


def test_launches_do_not_depend_on_sizes() -> None:
    larger = started(series=7, num_inducing=30, sizes=(60, 5))
    assert counted(started()).launches == counted(larger).launches


@pytest.mark.parametrize("bad_step", [0, 5])
def test_a_loss_that_is_not_finite_is_named_by_its_step(bad_step: int) -> None:
    """Steps go on until losses are read, but neither the end of the task nor a checkpoint is reached."""
    steps = started()
    _, times, y, mask = steps.batch
    batches = [steps.batch] * 20
    batches[bad_step] = steps.batch[0], times, torch.full_like(y, torch.inf), mask

    def train() -> None:
        for number, batch in enumerate(batches):
            steps.optimiser.zero_grad()
            steps.module.training_step(batch, number).backward()
            steps.optimiser.step()

    with pytest.raises(FloatingPointError, match=rf"the loss became \S+ in task 2, step {bad_step}; lower lr"):
        train()
    for reached in (steps.module.end_task, lambda: steps.module.on_save_checkpoint({"state_dict": {}})):
        steps.module._losses.add(bad_step, torch.full((), torch.nan, device=NAME))
        with pytest.raises(FloatingPointError, match=f"in task 2, step {bad_step}"):
            reached()


def test_a_tensor_made_on_the_cpu_and_moved_in_each_step_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant: the clock is computed on the host in each step, and moved to the device without a word."""

    def forward(self: Clock, times: torch.Tensor, device: object = None) -> torch.Tensor:
        phases = 2 * torch.pi * times.cpu()[:, None] / self.periods.cpu()
        return torch.cat([phases.cos(), phases.sin()], -1).to(times.device)

    monkeypatch.setattr(Clock, "forward", forward)
    with pytest.raises(AssertionError):
        test_a_step_stays_within_its_budget("networks of the paper, replay", 2)
