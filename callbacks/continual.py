"""Leads a module through a stream of tasks within one `trainer.fit`."""

from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor
from torch.optim import Optimizer

from callbacks.data_identity import KEY, check_same_data
from datamodules import TaskStream
from gpvae.modules import ContinualModule


class ContinualLearning(Callback):
    """Swaps tasks, consolidates what was learnt, freezes the kernel, resets the optimiser.

    The task is a function of the epoch. A task begins before its first batch and is consolidated after its last, so
    that the validation which follows sees the consolidated state. Every move is made only if it has not been made
    before, so a run that is resumed from any checkpoint neither repeats a task nor leaves one out.
    """

    def __init__(self) -> None:
        self._rng_state: Tensor | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse what cannot work."""
        _parties(trainer)
        every = trainer.reload_dataloaders_every_n_epochs  # type: ignore[attr-defined]
        if stage == "fit" and every != 1:
            raise ValueError(
                "a stream needs Trainer(reload_dataloaders_every_n_epochs=1), because the data depend on the epoch; "
                f"got {every}"
            )

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Keep what the data are."""
        checkpoint[KEY] = _parties(trainer)[1].identity()

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Refuse to go on with other data, and make sure that the task of the checkpoint is evaluated."""
        stream = _parties(trainer)[1]
        check_same_data(checkpoint, stream)
        if "loops" in checkpoint:
            _resume_with_evaluation(checkpoint["loops"]["fit_loop"], stream)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Go on with the random numbers of the run that is resumed."""
        if self._rng_state is not None:
            torch.set_rng_state(self._rng_state)
            self._rng_state = None
        self._catch_up(trainer)

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin the task of the epoch, unless it has begun."""
        self._catch_up(trainer)

    def on_train_batch_start(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        batch: Any,  # noqa: ANN401
        batch_idx: int,
    ) -> None:
        """The same, for a run resumed where the hook above is skipped."""
        self._catch_up(trainer)

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        """Keep frozen parameters where they are."""
        for parameter in _parties(trainer)[0].frozen_parameters():
            parameter.grad = None

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,  # noqa: ANN401
        batch: Any,  # noqa: ANN401
        batch_idx: int,
    ) -> None:
        """Consolidate the task after its last batch."""
        self._consolidate(trainer)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The same, for a run resumed between the two."""
        if trainer.state.fn == TrainerFn.FITTING:
            self._consolidate(trainer)

    def _consolidate(self, trainer: Trainer) -> None:
        """End the task of the epoch if its last batch is over, unless it has ended."""
        module, stream = _parties(trainer)
        last_epoch = (trainer.current_epoch + 1) % stream.epochs_per_task == 0
        if trainer.is_last_batch and last_epoch and module.learned < module.begun:
            module.end_task()

    def state_dict(self) -> dict[str, Any]:
        """The state of the random numbers."""
        return {"rng_state": torch.get_rng_state()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the state of the random numbers until training starts."""
        self._rng_state = state_dict["rng_state"]

    def _catch_up(self, trainer: Trainer) -> None:
        """Bring the module to the task of the epoch."""
        module, stream = _parties(trainer)
        task = stream.task_of_epoch(trainer.current_epoch)
        learned, begun = int(module.learned), int(module.begun)
        if learned == task + 1 or (begun == task + 1 and module.attached):
            return
        if learned != task:
            raise RuntimeError(
                f"epoch {trainer.current_epoch} belongs to task {task + 1} of {stream.num_tasks}, but the module has "
                f"learnt {learned} task(s): a checkpoint can only be resumed with the epochs_per_task "
                f"(now {stream.epochs_per_task}) it was made with"
            )
        data = stream.task_data(task)
        if begun == learned:
            module.begin_task(*data)
            for optimizer in trainer.optimizers:
                optimizer.state.clear()
        else:
            module.attach_task(*data)


def _resume_with_evaluation(loops: dict[str, Any], stream: TaskStream) -> None:
    """Change the progress in a checkpoint that was saved after the last batch of a task, before its evaluation.

    Lightning would take such an epoch for complete and leave out the evaluation; it goes on with one that has begun.
    """
    batches, evaluation = loops["epoch_loop.batch_progress"], loops["epoch_loop.val_loop.batch_progress"]
    between = batches["is_last_batch"] and batches["total"]["completed"] == batches["total"]["processed"] - 1
    if between and (loops["epoch_progress"]["current"]["processed"] + 1) % stream.epochs_per_task == 0:
        for count in ("total", "current"):
            batches[count]["completed"] = batches[count]["processed"]
            evaluation[count].update(ready=1, started=1, processed=0, completed=0)


def _parties(trainer: Trainer) -> tuple[ContinualModule, TaskStream]:
    """The module and the stream that it learns from."""
    module, stream = trainer.lightning_module, trainer.datamodule  # type: ignore[attr-defined]
    if not isinstance(module, ContinualModule) or not isinstance(stream, TaskStream):
        raise TypeError(
            "ContinualLearning leads a gpvae.modules.ContinualModule through a datamodules.TaskStream; got "
            f"{type(module).__name__} and {type(stream).__name__}"
        )
    return module, stream
