"""Checks that a run is resumed with the data of its checkpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from lightning import Trainer
from torch import Tensor

from datamodules import TaskStream
from gpvae.modules import check_same_configuration
from gpvae.modules.configuration import Differences

#: Entry of a checkpoint with the identity of the data.
CHECKPOINT_KEY = "data_identity"
#: Entries with the description of the data, see `TaskStream.describe`, and the class of the module.
DESCRIPTION_KEY, CLASS_KEY = "data_description", "module_class"
#: The part of an identity that also tells whether the values of the first task have changed.
FIRST_TASK = "values of the first task"
#: Numbers may differ by this much between processors.
TOLERANCE = 1e-6


def check_same_data(checkpoint: Mapping[str, Any], stream: TaskStream) -> Differences:
    """Raise unless a checkpoint is of the same stream; options in `TaskStream.resumable` may differ.

    So a run takes more data of the same stream: those that were learnt before are identified by variables, locations,
    first hour and scale of the first task, and by digests of every task. Where the user accepts changes, the data of
    learnt tasks may differ, but for the first, which sets the scale.

    Args:
        checkpoint: The checkpoint.
        stream: The stream of this run.

    Returns:
        Other options that differ, where the user accepts that.
    """
    stream.adopt_options(checkpoint.get("datamodule_hyper_parameters", {}))
    changes = _compare_options(checkpoint, stream, stream.resumable)
    now = stream.identity()
    num_begun, num_learnt = (int(checkpoint["state_dict"][name]) if now else 0 for name in ("begun", "learned"))
    if num_learnt > stream.num_tasks and "points of task" in now:
        raise _too_few_tasks(num_learnt, stream)
    before = checkpoint.get(CHECKPOINT_KEY, {})
    differing = _differing_parts(before, now)
    changed = stream.changed_tasks(before, num_begun) if differing.keys() <= {FIRST_TASK} else []
    details = differing | {task.name: task.detail for task in changed}
    fixed = list(differing | {task.name: "" for task in changed if task.number == 1})
    if fixed or (changed and not stream.accept_changes):
        raise _other_data(fixed or list(details), details, acceptable=not fixed)
    if changed and changed[-1].number > num_learnt:
        raise ValueError(
            f"the checkpoint is within task {num_begun}, whose data have changed ({changed[-1].detail}): give the "
            "original data, or resume from the checkpoint of the task before"
        )
    if num_learnt > stream.num_tasks:
        raise _too_few_tasks(num_learnt, stream)
    return changes


def accepted_data(checkpoint: Mapping[str, Any], stream: TaskStream) -> Differences:
    """The data that have changed since they were learnt, of a checkpoint that `check_same_data` has let through.

    Args:
        checkpoint: The checkpoint.
        stream: The stream of this run.
    """
    changed = stream.changed_tasks(checkpoint.get(CHECKPOINT_KEY, {}), int(checkpoint["state_dict"]["learned"]))
    return {f"data, {task.name}": ("as learnt", task.detail or "other points") for task in changed}


def check_same_tasks(trainer: Trainer, stream: TaskStream) -> None:
    """Raise on all processes unless all of them have found the same number of tasks; they would wait for ever.

    Args:
        trainer: The trainer.
        stream: The stream of this process.
    """
    if trainer.world_size == 1:
        return
    own = torch.tensor(stream.num_tasks, device=trainer.strategy.root_device)
    counts = trainer.strategy.all_gather(own).flatten().tolist()
    if len(set(counts)) > 1:
        raise RuntimeError(
            f"the processes have found {', '.join(map(str, counts))} tasks: data have arrived while they were "
            "starting. Run again"
        )


def check_same_stream(checkpoint: Mapping[str, Any], stream: TaskStream) -> None:
    """Raise if options that can never change differ from a checkpoint; the data need not be there yet.

    Args:
        checkpoint: The checkpoint.
        stream: The stream of this run.
    """
    _compare_options(checkpoint, stream, stream.resumable | stream.changeable)


def _compare_options(checkpoint: Mapping[str, Any], stream: TaskStream, ignored: frozenset[str]) -> Differences:
    saved = {**checkpoint.get("datamodule_hyper_parameters", {}), **dict.fromkeys(ignored)}
    present = {**stream.hparams, **dict.fromkeys(ignored)}
    return check_same_configuration(saved, present, stream.changeable, stream.accept_changes)


def _too_few_tasks(num_learnt: int, stream: TaskStream) -> ValueError:
    return ValueError(
        f"the checkpoint has learnt {num_learnt} tasks, but the data make {stream.num_tasks}: files are missing, "
        "or num_tasks or end is too small. Give the data that were learnt, and new ones after them"
    )


def _other_data(differing: Sequence[str], details: Mapping[str, str], *, acceptable: bool) -> ValueError:
    listed = "; ".join(f"{name}: {detail}" for name, detail in details.items() if detail)
    accept = (
        "; to go on all the same, add --accept changed: what was learnt from them stays, and config_history.yaml "
        "records the change (in Python: run.update(..., accept='changed'))"
    )
    return ValueError(
        f"the data are not those that the checkpoint was made with: {' and '.join(differing)} differ, though the "
        f"options are the same{f' ({listed})' if listed else ''}. Give the original data, with new data after "
        f"them, or start without a checkpoint{accept if acceptable else ''}"
    )


def _differing_parts(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """The tensors and texts of the identity that differ, with old and new values; the rest is compared by task."""
    return {
        name: _describe(before[name], now[name])
        for name in now
        if name in before and isinstance(now[name], Tensor | str) and not _equal(before[name], now[name])
    }


def _equal(before: Any, now: Any) -> bool:  # noqa: ANN401
    if not isinstance(before, Tensor) or not isinstance(now, Tensor):
        return bool(before == now)
    return before.shape == now.shape and torch.allclose(before, now, rtol=TOLERANCE, atol=TOLERANCE)


def _describe(before: Any, now: Any) -> str:  # noqa: ANN401
    if not isinstance(before, Tensor) or not isinstance(now, Tensor):
        return f"{before} in the checkpoint and {now} here"
    if before.shape != now.shape:
        return f"{before.shape[-1]} in the checkpoint and {now.shape[-1]} here"
    differs = ~torch.isclose(before, now, rtol=TOLERANCE, atol=TOLERANCE)
    old, new = (values[differs][0].item() for values in (before, now))
    count = int(differs.sum())
    return f"{count} of {differs.numel()} numbers, the first {old:.6g} in the checkpoint and {new:.6g} here"
