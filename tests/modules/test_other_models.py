"""A model that is no Gaussian process learns a stream with the methods of any LightningModule, and `predictive`."""

from pathlib import Path

import pytest
import torch
from lightning import Trainer
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from callbacks import ContinualLearning, TaskCheckpoint, TaskReport
from callbacks.checkpoint import read_checkpoint
from datamodules import Batch, Toy
from gpvae.modules import ContinualModule


class Line(ContinualModule):
    """A straight line, which remembers what happened to it."""

    def __init__(self) -> None:
        super().__init__(["nlpd", "rmse"])
        self.line = nn.Linear(1, 1)
        self.events: list[tuple[str, int, int]] = []
        self.register_buffer("num_points", torch.zeros((), dtype=torch.int64))
        self.register_buffer("slopes", torch.zeros(()))

    def predictive(self, batch: Batch) -> tuple[Distribution, Tensor]:
        return Normal(self.line(batch.x.float())[..., 0].double(), 1.0), batch.y

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        assert self.attached
        distribution, y = self.predictive(batch)
        return -distribution.log_prob(y).mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def begin_task(self, *data: Tensor) -> None:
        super().begin_task(*data)
        self.events.append(("begin", self.begun, self.learned))

    def end_task(self) -> None:
        assert self.task_data is not None
        self.num_points += len(self.task_data[0])
        self.slopes += self.line.weight.sum()
        super().end_task()
        self.events.append(("end", self.begun, self.learned))


def learn(folder: Path, data: Toy, resumed_from: Path | None = None) -> tuple[Line, TaskReport]:
    torch.manual_seed(0)
    module, report = Line(), TaskReport(print_table=False, compare=False)
    trainer = Trainer(
        accelerator="cpu",
        default_root_dir=folder,
        callbacks=[ContinualLearning(), report, TaskCheckpoint()],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **data.trainer_options,
    )
    trainer.fit(module, datamodule=data, ckpt_path=resumed_from)
    return module, report


@pytest.mark.filterwarnings("ignore")  # Lightning's, about loaders
def test_each_task_begins_and_ends_once_and_is_scored(tmp_path: Path) -> None:
    data = Toy(epochs_per_task=2)
    module, report = learn(tmp_path, data)
    expected = [
        event for task in range(1, data.num_tasks + 1) for event in (("begin", task, task - 1), ("end", task, task))
    ]
    assert module.events == expected
    assert not module.attached
    assert module.task_data is None
    assert not module.slopes.requires_grad  # tasks end without gradients
    assert report.matrix("rmse").shape == (data.num_tasks, data.num_tasks)


@pytest.mark.filterwarnings("ignore")
def test_a_resumed_run_ends_with_the_same_state(tmp_path: Path) -> None:
    whole, _ = learn(tmp_path / "whole", Toy(epochs_per_task=2))
    learn(tmp_path / "parts", Toy(epochs_per_task=2, stop_after=1))
    (last,) = (tmp_path / "parts").rglob("last.ckpt")
    assert read_checkpoint(last)["hyper_parameters"] == {}
    resumed, _ = learn(tmp_path / "parts", Toy(epochs_per_task=2), last)
    assert [event for event in resumed.events if event[0] == "begin"] == [("begin", 2, 1), ("begin", 3, 2)]
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())
