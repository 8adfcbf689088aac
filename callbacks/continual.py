"""Trains a module on all tasks of a stream within one `trainer.fit`."""

from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor
from torch.optim import Optimizer

from callbacks.changed_options import accepted_changes, renew_optimizers, renumber_epochs
from callbacks.data_identity import CHECKPOINT_KEY, CLASS_KEY, DESCRIPTION_KEY, check_same_tasks
from callbacks.evaluating import evaluating
from datamodules import TaskStream
from gpvae.modules import ContinualModule


class ContinualLearning(Callback):
    """Begins and consolidates tasks, keeps frozen parameters fixed, and resets the optimiser.

    The task is a function of the epoch. A task begins before its first batch and is consolidated after its last, so
    that the validation which follows sees the consolidated state. Each transition happens only if it has not happened
    before, so a run that is resumed from any checkpoint neither repeats nor skips a task.
    """

    def __init__(self) -> None:
        self._rng_state: Tensor | None = None
        self._options_changed = False

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Check the module, the stream and the options of the trainer."""
        check_same_tasks(trainer, module_and_stream(trainer, "ContinualLearning")[1])
        every = trainer.reload_dataloaders_every_n_epochs  # type: ignore[attr-defined]
        if stage == "fit" and every != 1:
            raise ValueError(
                "a stream needs Trainer(reload_dataloaders_every_n_epochs=1), because the data depend on the epoch; "
                f"got {every}"
            )

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Save the identity of the data, and what makes the run readable without them."""
        module, stream = module_and_stream(trainer, "ContinualLearning")
        checkpoint[CHECKPOINT_KEY] = stream.identity()
        checkpoint[DESCRIPTION_KEY] = stream.describe()
        checkpoint[CLASS_KEY] = f"{type(module).__module__}.{type(module).__qualname__}"

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Refuse other data or options than before, and ensure that the task of the checkpoint is evaluated."""
        module, stream = module_and_stream(trainer, "ContinualLearning")
        changes = accepted_changes(checkpoint, module, stream)
        self._options_changed = bool(changes)
        if "loops" in checkpoint:
            renumber_epochs(checkpoint, changes)
            _resume_with_evaluation(checkpoint["loops"]["fit_loop"], stream)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Restore the random numbers of a resumed run, and give its optimisers options that have changed."""
        if self._options_changed:
            renew_optimizers(trainer)
            self._options_changed = False
        if self._rng_state is not None:
            torch.set_rng_state(self._rng_state)
            self._rng_state = None
        self._start_task(trainer)

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin the task of the epoch."""
        self._start_task(trainer)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: object, batch_idx: int) -> None:
        """Begin the task in a run resumed within an epoch, where `on_train_epoch_start` is skipped."""
        self._start_task(trainer)
        module, stream = module_and_stream(trainer, "ContinualLearning")
        epochs = trainer.current_epoch % stream.epochs_per_task + batch_idx / trainer.num_training_batches
        module.progress = epochs / stream.epochs_per_task

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        """Discard the gradients of frozen parameters."""
        for parameter in module_and_stream(trainer, "ContinualLearning")[0].frozen_parameters():
            parameter.grad = None

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *args: Any, **kwargs: Any) -> None:
        """Consolidate the task after its last batch."""
        self._consolidate(trainer)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Consolidate the task in a run resumed between its last batch and the validation."""
        if trainer.state.fn == TrainerFn.FITTING:
            self._consolidate(trainer)

    def _consolidate(self, trainer: Trainer) -> None:
        """End the task after its last batch, unless it has ended."""
        module, stream = module_and_stream(trainer, "ContinualLearning")
        last_epoch = (trainer.current_epoch + 1) % stream.epochs_per_task == 0
        if trainer.is_last_batch and last_epoch and module.learned < module.begun:
            with torch.no_grad():  # also where Lightning has them enabled
                module.end_task()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the random numbers."""
        return {"rng_state": torch.get_rng_state()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the state of the random numbers until training starts."""
        self._rng_state = state_dict["rng_state"]

    def _start_task(self, trainer: Trainer) -> None:
        """Begin the task of the epoch, or attach its data again in a resumed run; unless that is done already."""
        module, stream = module_and_stream(trainer, "ContinualLearning")
        task = stream.task_of_epoch(trainer.current_epoch)
        learned, begun = module.learned, module.begun
        if learned == task + 1 or (begun == task + 1 and module.attached):
            return
        if learned != task:
            raise RuntimeError(
                f"epoch {trainer.current_epoch} belongs to task {task + 1} of {stream.num_tasks}, but the module has "
                f"learnt {learned} task(s): a checkpoint can only be resumed with the epochs_per_task "
                f"(now {stream.epochs_per_task}) it was saved with"
            )
        data = stream.task_data(task)
        if begun == learned:
            if learned > 0:
                foresee(trainer, module, stream, task)
            module.begin_task(*data)
            for optimizer in trainer.optimizers:
                optimizer.state.clear()
        else:
            module.attach_task(*data)


def foresee(trainer: Trainer, module: ContinualModule, stream: TaskStream, task: int) -> None:
    """Score predictions of a task before it is learnt, and tell the callbacks that have a method `on_task_foreseen`.

    Args:
        trainer: The trainer.
        module: The module, which has learnt all tasks before this one.
        stream: The stream.
        task: The task, from 0.
    """
    with evaluating(module):
        module.foresee(stream.preview_loader(task, trainer.global_rank, trainer.world_size))
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if hasattr(callback, "on_task_foreseen"):
            callback.on_task_foreseen(trainer, module, task)


def _resume_with_evaluation(loops: dict[str, Any], stream: TaskStream) -> None:
    """Change the progress in a checkpoint saved after the last batch of a task but before its evaluation.

    Lightning considers such an epoch complete and skips the evaluation, but resumes an evaluation that has started.
    """
    batches, evaluation = loops["epoch_loop.batch_progress"], loops["epoch_loop.val_loop.batch_progress"]
    between = batches["is_last_batch"] and batches["total"]["completed"] == batches["total"]["processed"] - 1
    if between and (loops["epoch_progress"]["current"]["processed"] + 1) % stream.epochs_per_task == 0:
        for count in ("total", "current"):
            batches[count]["completed"] = batches[count]["processed"]
            evaluation[count].update(ready=1, started=1, processed=0, completed=0)


def continual_module(module: object, callback: str) -> ContinualModule:
    """Return the module as a ContinualModule, which a callback requires.

    Args:
        module: The module.
        callback: Name of the callback.
    """
    if not isinstance(module, ContinualModule):
        raise TypeError(f"{callback} requires a gpvae.modules.ContinualModule, got {type(module).__name__}")
    return module


def module_and_stream(trainer: Trainer, callback: str) -> tuple[ContinualModule, TaskStream]:
    """Return the module and the stream that it learns, both of which a callback requires.

    Args:
        trainer: The trainer.
        callback: Name of the callback.
    """
    module, stream = trainer.lightning_module, trainer.datamodule  # type: ignore[attr-defined]
    if not isinstance(stream, TaskStream):
        raise TypeError(f"{callback} requires a datamodules.TaskStream, got {type(stream).__name__}")
    return continual_module(module, callback), stream
