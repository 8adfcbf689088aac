"""Options that change in the course of a run, from one task to the next, because the user accepts it."""

from collections.abc import Mapping
from typing import Any

from lightning import Trainer

from callbacks.data_identity import check_same_data
from datamodules import TaskStream
from gpvae.modules import ContinualModule
from gpvae.modules.configuration import Differences


def accepted_changes(checkpoint: Mapping[str, Any], module: ContinualModule, stream: TaskStream) -> Differences:
    """The options of model and data that differ from a checkpoint, such as `data.epochs_per_task`: old and new value.

    Args:
        checkpoint: The checkpoint.
        module: The module that resumes from it.
        stream: The stream that it learns.

    Raises:
        ValueError: Something else differs, the user does not accept changes, or a task is under way.
    """
    sections = {"model": module.changes_since(checkpoint), "data": check_same_data(checkpoint, stream)}
    changes = {f"{section}.{name}": pair for section, some in sections.items() for name, pair in some.items()}
    begun, learned = (int(checkpoint["state_dict"][name]) for name in ("begun", "learned"))
    if changes and begun > learned:
        listed = " and ".join(changes)
        raise ValueError(
            f"the checkpoint is within task {begun}, and {listed} can change only between two tasks: first finish the "
            f"task with the options it began with, by --data.stop_after {begun}"
        )
    return changes


def renumber_epochs(checkpoint: dict[str, Any], changes: Differences) -> None:
    """Count the epochs of a checkpoint as if its tasks had been learnt with the new number of epochs per task.

    Then the task of an epoch depends on the present number alone. The checkpoint is one between two tasks.

    Args:
        checkpoint: The checkpoint, which is changed.
        changes: The accepted changes.
    """
    if "data.epochs_per_task" not in changes:
        return
    old, new = changes["data.epochs_per_task"]
    shift = int(checkpoint["state_dict"]["learned"]) * (new - old)
    loops = checkpoint["loops"]["fit_loop"]
    for counts in loops["epoch_progress"].values():
        for name in counts:
            counts[name] += shift
    for loader in loops["state_dict"].get("combined_loader", []):
        loader["epoch"] += shift


def renew_optimizers(trainer: Trainer) -> None:
    """Give the optimisers of a resumed run the options of the module, such as its learning rate.

    Args:
        trainer: The trainer.
    """
    configured: Any = trainer.lightning_module.configure_optimizers()
    fresh = configured if isinstance(configured, list) else [configured]
    for optimizer, other in zip(trainer.optimizers, fresh, strict=True):
        for group, options in zip(optimizer.param_groups, other.param_groups, strict=True):
            group.update({name: value for name, value in options.items() if name != "params"})
