"""Checkpoints of a stream."""

import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint
from lightning.pytorch.plugins.io import AsyncCheckpointIO

from callbacks.clock import timed
from callbacks.results_folder import LeavesFiles
from gpvae.modules import ContinualModule
from gpvae.utils.atomic import publish

#: Parts of every checkpoint of a run, and those that training goes on from.
NEEDED: dict[str, type] = {"state_dict": dict, "hyper_parameters": dict, "datamodule_hyper_parameters": dict}
NEEDED_TO_GO_ON: dict[str, type] = {"loops": dict, "callbacks": dict, "optimizer_states": list, "lr_schedulers": list}
ADVICE = "Give another one, such as that of an earlier task in the same folder."


class TaskCheckpoint(LeavesFiles, Checkpoint):
    """Saves after every task, and now and then within one.

    `checkpoints/task_03.ckpt` in the folder of the run is the state after task 3 and its evaluation;
    `checkpoints/last.ckpt` the latest of all, from which `--ckpt_path last` goes on. A file appears under its name
    only once it is complete.

    Args:
        every_n_steps: Steps of the optimiser between checkpoints within an epoch; none if not given.
        keep_tasks: Keep a checkpoint of every task, not only the last.
    """

    def __init__(self, every_n_steps: int | None = 500, keep_tasks: bool = True) -> None:
        super().__init__()
        if every_n_steps is not None and every_n_steps < 1:
            raise ValueError(f"every_n_steps is at least 1, or null for none; got {every_n_steps}")
        self.every_n_steps, self.keep_tasks = every_n_steps, keep_tasks

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse what would have a file renamed before it is written."""
        check_written_at_once(trainer)

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,  # noqa: ANN401
        batch: Any,  # noqa: ANN401
        batch_idx: int,
    ) -> None:
        """Save within an epoch, and never between batches whose gradients are still to be added up: these are lost."""
        if self.every_n_steps is None or trainer.is_last_batch:
            return  # after the last batch comes the evaluation, and then the end of the epoch
        steps, gathering = divmod(batch_idx + 1, trainer.accumulate_grad_batches)
        if not gathering and steps % self.every_n_steps == 0:
            with timed(trainer, "saving"):
                self._save(trainer, "last.ckpt")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save after an epoch, under the name of its task where that is learnt."""
        assert isinstance(pl_module, ContinualModule)
        with timed(trainer, "saving"):
            if not (self.keep_tasks and pl_module.learned == pl_module.begun):
                self._save(trainer, "last.ckpt")
                return
            saved = self._save(trainer, f"task_{int(pl_module.learned):02d}.ckpt")
            if saved is not None and trainer.is_global_zero:
                with _written(saved.with_name("last.ckpt")) as part:
                    shutil.copyfile(saved, part)

    def _save(self, trainer: Trainer, name: str) -> Path | None:
        """Save under a name, on all processes; where that is, if anywhere."""
        folder = self.results_folder(trainer)
        if folder is None:
            return None
        for logger in trainer.loggers:  # what was logged before a checkpoint is not logged again after it
            logger.save()
        path = folder / "checkpoints" / name
        with _written(path) if trainer.is_global_zero else nullcontext(_part_of(path)) as part:
            trainer.save_checkpoint(part, weights_only=False)  # with optimiser and loops
        trainer.strategy.barrier()
        return path


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """Where to write a checkpoint, which gets its name once it is complete; if it cannot be, nothing is left of it."""
    part = _part_of(path)
    try:
        yield part
        publish(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(
            f"the checkpoint {path} cannot be written ({error}): make room, or let this user write "
            "there; `--ckpt_path last` goes on from the one before"
        ) from error


def check_written_at_once(trainer: Trainer) -> None:
    """Raise if checkpoints are not written when they are saved.

    Args:
        trainer: The trainer.
    """
    if isinstance(trainer.strategy.checkpoint_io, AsyncCheckpointIO):
        raise ValueError(
            "AsyncCheckpointIO writes checkpoints later, so that nobody knows when one is complete: leave it out of "
            "trainer.plugins"
        )


def read_checkpoint(path: Path, to_go_on: bool = False) -> dict[str, Any]:
    """The content of a checkpoint: tensors and plain values, whatever else is in the file.

    Args:
        path: The file.
        to_go_on: Whether training is to go on from it, which takes more than the state of the module.

    Raises:
        ValueError: The file is damaged, holds what could run code, or is not a checkpoint of a run.
    """
    try:
        _check_sums(path)
        checkpoint: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged file makes of an unpickler
        unsafe = re.search(r"GLOBAL ([\w.]+) ", str(error))
        reason = (
            f"it names {unsafe[1]}, which could run code" if unsafe else f"it may be damaged ({type(error).__name__})"
        )
        raise ValueError(f"{path} cannot be read as a checkpoint: {reason}. {ADVICE}") from error
    needed = NEEDED | NEEDED_TO_GO_ON if to_go_on else NEEDED
    missing = [key for key, kind in needed.items() if not isinstance(_part(checkpoint, key), kind)]
    if missing:
        raise ValueError(f"{path} is not a checkpoint of a run: it has no {', '.join(missing)}. {ADVICE}")
    return checkpoint


def load_state(module: ContinualModule, checkpoint: dict[str, Any], path: Path) -> None:
    """Load the state of a module.

    Args:
        module: The module.
        checkpoint: The content of a checkpoint.
        path: Where it is from.

    Raises:
        ValueError: It is the state of something else.
    """
    try:
        module.load_state_dict(checkpoint["state_dict"])
    except Exception as error:  # names, shapes and types, each in its own way
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is not a checkpoint of {type(module).__name__}: {reason}") from error


def _check_sums(path: Path) -> None:
    """Raise if a part of the file is not as it was written, which torch does not look at."""
    with zipfile.ZipFile(path) as archive:
        if (damaged := archive.testzip()) is not None:
            raise zipfile.BadZipFile(damaged)


def _part_of(path: Path) -> Path:
    """What a checkpoint is called until it is complete."""
    return path.with_name(f"{path.name}.part")


def _part(checkpoint: Any, key: str) -> Any:  # noqa: ANN401
    return checkpoint.get(key) if isinstance(checkpoint, dict) else None
