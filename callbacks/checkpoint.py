"""Saves checkpoints of a run, and reads them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint
from lightning.pytorch.plugins.io import AsyncCheckpointIO

from callbacks.clock import timed
from callbacks.continual import continual_module
from callbacks.results_folder import ResultsWriter
from gpvae.modules import ContinualModule
from gpvae.utils.atomic import publish
from gpvae.utils.torch_files import read_torch_file

#: Entries of every checkpoint of a run, and those that resuming the training requires as well.
REQUIRED_KEYS: dict[str, type] = {"state_dict": dict, "hyper_parameters": dict, "datamodule_hyper_parameters": dict}
RESUME_KEYS: dict[str, type] = {"loops": dict, "callbacks": dict, "optimizer_states": list, "lr_schedulers": list}
ADVICE = "Give another checkpoint, such as that of an earlier task in the same folder."


class TaskCheckpoint(ResultsWriter, Checkpoint):
    """Saves checkpoints after every task, in the course of long tasks, and where the trainer stops within a task.

    `checkpoints/task_03.ckpt` in the run folder is the state after task 3 and its evaluation;
    `checkpoints/last.ckpt` is the latest checkpoint, from which `--ckpt_path last` resumes. A file gets its name only
    when it is complete.

    Args:
        every_n_steps: Optimiser steps between checkpoints within a task; null for none.
        keep_tasks: Whether to keep a checkpoint of every task, not only the last.
    """

    def __init__(self, every_n_steps: int | None = 500, keep_tasks: bool = True) -> None:
        super().__init__()
        if every_n_steps is not None and every_n_steps < 1:
            raise ValueError(f"every_n_steps is at least 1, or null for none; got {every_n_steps}")
        self.every_n_steps, self.keep_tasks = every_n_steps, keep_tasks
        self._unsaved_steps = 0

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse asynchronous checkpoints, which would be renamed before they are written."""
        check_synchronous(trainer)

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,  # noqa: ANN401
        batch: Any,  # noqa: ANN401
        batch_idx: int,
    ) -> None:
        """Save within an epoch, but not between batches whose gradients are accumulated, as these would be lost."""
        accumulating = (batch_idx + 1) % trainer.accumulate_grad_batches > 0 and not trainer.is_last_batch
        self._unsaved_steps += not accumulating
        if self._is_due() and not accumulating and not trainer.is_last_batch:
            with timed(trainer, "saving"):
                self._save(trainer, "last.ckpt")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save a complete task, what is due after the last batch of an epoch, and where the trainer is to stop."""
        module = continual_module(pl_module, "TaskCheckpoint")
        complete = module.learned == module.begun
        if not (complete or self._is_due() or _stops(trainer)):
            return
        with timed(trainer, "saving"):
            if not (self.keep_tasks and complete):
                self._save(trainer, "last.ckpt")
                return
            saved = self._save(trainer, f"task_{module.learned:02d}.ckpt")
            if saved is not None and trainer.is_global_zero:
                with _writing(saved.with_name("last.ckpt")) as unfinished:
                    shutil.copyfile(saved, unfinished)

    def _is_due(self) -> bool:
        return self.every_n_steps is not None and self._unsaved_steps >= self.every_n_steps

    def _save(self, trainer: Trainer, name: str) -> Path | None:
        """Save a checkpoint, called on all processes, and return its path; None if results are not written."""
        self._unsaved_steps = 0
        folder = self.results_folder(trainer)
        if folder is None:
            return None
        for logger in trainer.loggers:  # a resumed run does not log again what was logged before its checkpoint
            logger.save()
        path = folder / "checkpoints" / name
        with _writing(path) if trainer.is_global_zero else nullcontext(_unfinished(path)) as unfinished:
            trainer.save_checkpoint(unfinished, weights_only=False)  # with optimiser and loops
        trainer.strategy.barrier()
        return path


def _stops(trainer: Trainer) -> bool:
    """Whether the epoch that ends is the last one of this run: by epochs, steps or time, or because it was asked to."""
    epochs, steps = trainer.max_epochs, trainer.max_steps
    last_epoch = epochs is not None and 0 <= epochs <= trainer.current_epoch + 1
    return trainer.should_stop or last_epoch or 0 <= steps <= trainer.global_step


@contextmanager
def _writing(path: Path) -> Iterator[Path]:
    """Yield the path to write a checkpoint to, and publish it at the end; a failure leaves nothing behind."""
    unfinished = _unfinished(path)
    try:
        yield unfinished
        publish(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OSError(
            f"the checkpoint {path} cannot be written ({error}): free some space, or change the permissions of its "
            "folder; `--ckpt_path last` resumes from the previous checkpoint"
        ) from error


def _unfinished(path: Path) -> Path:
    """Return the path of a checkpoint until it is complete. A resumed run overwrites the one that a kill leaves."""
    return path.with_name(f"{path.name}.part")


def check_synchronous(trainer: Trainer) -> None:
    """Raise if the trainer writes checkpoints asynchronously."""
    if isinstance(trainer.strategy.checkpoint_io, AsyncCheckpointIO):
        raise ValueError(
            "AsyncCheckpointIO writes checkpoints later, so it is unknown when they are complete: remove it from "
            "trainer.plugins"
        )


def read_checkpoint(path: Path, *, resume: bool = False) -> dict[str, Any]:
    """Return the content of a checkpoint. Only tensors and plain values are unpickled.

    Args:
        path: The file.
        resume: Whether to resume the training, which requires more than the state of the module.

    Raises:
        ValueError: The file is damaged, names functions to call, or is not a checkpoint of a run.
    """
    checkpoint = read_torch_file(path, "a checkpoint", ADVICE)
    required = REQUIRED_KEYS | RESUME_KEYS if resume else REQUIRED_KEYS
    entries = checkpoint if isinstance(checkpoint, dict) else {}
    missing = [key for key, kind in required.items() if not isinstance(entries.get(key), kind)]
    if missing:
        raise ValueError(f"{path} is not a checkpoint of a run: it has no {', '.join(missing)}. {ADVICE}")
    return checkpoint


def load_state(module: ContinualModule, checkpoint: dict[str, Any], path: Path) -> None:
    """Load the state of a module from a checkpoint.

    Args:
        module: The module.
        checkpoint: The content of a checkpoint.
        path: Its file, for errors.

    Raises:
        ValueError: It is the state of another module.
    """
    try:
        module.load_state_dict(checkpoint["state_dict"])
    except Exception as error:  # of several types, for names, shapes and types
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is not a checkpoint of {type(module).__name__}: {reason}") from error
