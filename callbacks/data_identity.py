"""Checks that a run is resumed with the data of its checkpoint."""

from collections.abc import Mapping
from typing import Any

import torch

from datamodules import TaskStream
from gpvae.modules import check_same_configuration

#: Entry of a checkpoint with the identity of the data.
CHECKPOINT_KEY = "data_identity"
#: Numbers may differ by this much between processors.
TOLERANCE = 1e-6


def check_same_data(checkpoint: Mapping[str, Any], stream: TaskStream) -> None:
    """Raise unless a checkpoint is of the same stream; only `stop_after` and `predict_every` may differ.

    Args:
        checkpoint: The checkpoint.
        stream: The stream of this run.
    """
    saved = checkpoint.get("datamodule_hyper_parameters", {})
    ignored = dict.fromkeys(("stop_after", "predict_every"))
    check_same_configuration({**saved, **ignored}, {**stream.hparams, **ignored})
    before, now = checkpoint.get(CHECKPOINT_KEY, {}), stream.identity()
    differing = [name for name in now if name in before and not _equal(before[name], now[name])]
    if differing:
        raise ValueError(
            f"the data are not those that the checkpoint was made with: {' and '.join(differing)} differ, though the "
            "options are the same. Give the original files, or start without a checkpoint"
        )


def _equal(before: Any, now: Any) -> bool:  # noqa: ANN401
    if not isinstance(before, torch.Tensor) or not isinstance(now, torch.Tensor):
        return bool(before == now)
    return before.shape == now.shape and torch.allclose(before, now, rtol=TOLERANCE, atol=TOLERANCE)
