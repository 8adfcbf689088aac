"""Checks that a run is resumed with the data of its checkpoint."""

from collections.abc import Mapping
from typing import Any

import torch

from datamodules import TaskStream
from gpvae.modules import check_same_configuration

#: Entry of a checkpoint with the identity of the data.
CHECKPOINT_KEY = "data_identity"
#: Entries with the description of the data, see `TaskStream.describe`, and the class of the module.
DESCRIPTION_KEY, CLASS_KEY = "data_description", "module_class"
#: Numbers may differ by this much between processors.
TOLERANCE = 1e-6


def check_same_data(checkpoint: Mapping[str, Any], stream: TaskStream) -> None:
    """Raise unless a checkpoint is of the same stream; options in `TaskStream.resumable` may differ.

    So a run takes more data of the same stream: those that were learnt before are identified by variables, locations,
    first hour and scale of the first task.

    Args:
        checkpoint: The checkpoint.
        stream: The stream of this run.
    """
    saved = checkpoint.get("datamodule_hyper_parameters", {})
    ignored = dict.fromkeys(stream.resumable)
    check_same_configuration({**saved, **ignored}, {**stream.hparams, **ignored})
    before, now = checkpoint.get(CHECKPOINT_KEY, {}), stream.identity()
    differing = [name for name in now if name in before and not _equal(before[name], now[name])]
    if differing:
        raise ValueError(
            f"the data are not those that the checkpoint was made with: {' and '.join(differing)} differ, though the "
            "options are the same. Give the original files, or start without a checkpoint"
        )
    num_learnt = int(checkpoint["state_dict"]["learned"]) if now else 0
    if num_learnt > stream.num_tasks:
        raise ValueError(
            f"the checkpoint has learnt {num_learnt} tasks, but the data make {stream.num_tasks}: files are missing, "
            "or num_tasks or end is too small. Give the data that were learnt, and new ones after them"
        )


def _equal(before: Any, now: Any) -> bool:  # noqa: ANN401
    if not isinstance(before, torch.Tensor) or not isinstance(now, torch.Tensor):
        return bool(before == now)
    return before.shape == now.shape and torch.allclose(before, now, rtol=TOLERANCE, atol=TOLERANCE)
