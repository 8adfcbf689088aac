"""Runs without the command line: a trainer, a module, a stream and callbacks."""

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import LightningModule, Trainer

from callbacks import ContinualLearning, TaskCheckpoint, TaskReport
from datamodules import Toy
from gpvae.modules import StreamingGP

QUIET: dict[str, Any] = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}


def module(**options: Any) -> StreamingGP:
    return StreamingGP(**{"num_inducing": 8, "hyperparameters": "fixed", "lengthscale": 0.5, "noise": 0.01, **options})


@pytest.mark.parametrize("epochs_per_task", [1, 2])
@pytest.mark.parametrize("method", ["OHSGPR", "OHSVGP"])
def test_fit(epochs_per_task: int, method: str, tmp_path: Path) -> None:
    data = Toy("figure_1", epochs_per_task=epochs_per_task, batch_size=8)
    report, learner = TaskReport(print_table=False), module(method=method)
    trainer = Trainer(
        accelerator="cpu",
        default_root_dir=tmp_path,
        max_epochs=data.num_epochs,
        reload_dataloaders_every_n_epochs=1,
        check_val_every_n_epoch=data.epochs_per_task,
        callbacks=[report, ContinualLearning(), TaskCheckpoint()],
        **QUIET,
    )
    trainer.fit(learner, data)
    assert int(learner.learned) == int(learner.begun) == 3
    assert not learner.attached
    assert report.matrix("nlpd").shape == (3, 3)
    assert not torch.tensor(report.matrix("nlpd")).tril().isnan().any()
    assert {path.stem for path in (tmp_path / "checkpoints").iterdir()} == {"task_01", "task_02", "task_03", "last"}


def test_the_options_that_a_stream_gives(tmp_path: Path) -> None:
    data, learner = Toy("figure_1", epochs_per_task=2), module()
    callbacks = [ContinualLearning(), TaskCheckpoint(keep_tasks=False)]
    trainer = Trainer(
        accelerator="cpu", default_root_dir=tmp_path, callbacks=callbacks, **QUIET, **data.trainer_options
    )
    trainer.fit(learner, data)
    assert int(learner.learned) == 3
    assert [path.stem for path in (tmp_path / "checkpoints").iterdir()] == ["last"]


def test_a_trainer_that_would_miss_new_tasks_is_refused() -> None:
    trainer = Trainer(accelerator="cpu", max_epochs=3, callbacks=[ContinualLearning()], **QUIET)
    with pytest.raises(ValueError, match=r"reload_dataloaders_every_n_epochs=1.*got 0"):
        trainer.fit(module(), Toy("figure_1"))


def test_a_module_of_another_kind_is_refused() -> None:
    class Other(LightningModule):
        def training_step(self, batch: torch.Tensor, batch_idx: int) -> None: ...

        def configure_optimizers(self) -> None: ...

    trainer = Trainer(
        accelerator="cpu",
        max_epochs=3,
        reload_dataloaders_every_n_epochs=1,
        callbacks=[ContinualLearning()],
        enable_checkpointing=False,
        **QUIET,
    )
    with pytest.raises(TypeError, match=r"ContinualLearning requires a gpvae.modules.ContinualModule, got Other"):
        trainer.fit(Other(), Toy("figure_1"))


def test_data_of_another_kind_are_refused() -> None:
    options: dict[str, Any] = {"accelerator": "cpu", "max_epochs": 3, "reload_dataloaders_every_n_epochs": 1}
    trainer = Trainer(callbacks=[ContinualLearning()], enable_checkpointing=False, **options, **QUIET)
    with pytest.raises(TypeError, match=r"ContinualLearning requires a datamodules.TaskStream, got NoneType"):
        trainer.fit(module(), torch.utils.data.DataLoader(torch.zeros(3)))


def test_closed_form_refuses_part_of_a_task() -> None:
    data = Toy("figure_1", batch_size=5, steps_per_epoch=2)
    trainer = Trainer(
        accelerator="cpu", callbacks=[ContinualLearning()], enable_checkpointing=False, **QUIET, **data.trainer_options
    )
    with pytest.raises(ValueError, match="saw 10 points in a task of 15"):
        trainer.fit(module(), data)
