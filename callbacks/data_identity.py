"""Whether a run goes on with the data that it began with."""

from collections.abc import Mapping
from typing import Any

import torch

from datamodules import TaskStream
from gpvae.modules import check_same_configuration

#: Where a checkpoint keeps what the data were.
KEY = "data_identity"
#: Numbers that differ by less are the same on another processor.
TOLERANCE = 1e-6


def check_same_data(checkpoint: Mapping[str, Any], stream: TaskStream) -> None:
    """Raise unless a checkpoint is of the same stream; how many tasks are learnt, and when predicted, may differ.

    Args:
        checkpoint: The checkpoint.
        stream: The stream now.
    """
    saved = checkpoint.get("datamodule_hyper_parameters", {})
    free = dict.fromkeys(("stop_after", "predict_every"))
    check_same_configuration({**saved, **free}, {**stream.hparams, **free})
    before, now = checkpoint.get(KEY, {}), stream.identity()
    differing = [name for name in now if name in before and not _same(before[name], now[name])]
    if differing:
        raise ValueError(
            f"the data are not those that the checkpoint was made with: {' and '.join(differing)} differ, though the "
            "options are the same. Give the files that it was made with, or start without it"
        )


def _same(before: Any, now: Any) -> bool:  # noqa: ANN401
    if not isinstance(before, torch.Tensor) or not isinstance(now, torch.Tensor):
        return bool(before == now)
    return before.shape == now.shape and torch.allclose(before, now, rtol=TOLERANCE, atol=TOLERANCE)
