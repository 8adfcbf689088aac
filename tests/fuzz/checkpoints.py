"""Loads a checkpoint as a resumed run does: reads it, compares it with the config and loads its state."""

import traceback
from pathlib import Path
from typing import Any

import torch

from callbacks.checkpoint import load_state, read_checkpoint
from gpvae.cli.errors import is_user_error
from gpvae.modules import StreamingGP
from tests.cli.program import CONFIG, assert_same
from tests.fuzz.outcomes import Outcome

WHOLE = "whole.ckpt"  # beside the damaged one


def load(path: str) -> Outcome:
    whole = torch.load(Path(path).with_name(WHOLE), weights_only=True)
    options: dict[str, Any] = CONFIG["model"]["init_args"]
    module = StreamingGP(**options, input_dim=1, seed=CONFIG["seed_everything"])
    try:
        checkpoint = read_checkpoint(Path(path), resume=True)
        module.on_load_checkpoint(checkpoint)
        load_state(module, checkpoint, Path(path))
    except Exception as error:
        if is_user_error(error):
            return Outcome("refused", str(error))
        return Outcome("crash", traceback.format_exc(limit=-8))
    try:
        assert_same(whole, checkpoint)
    except AssertionError as error:
        return Outcome("silent NaN", f"the loaded checkpoint differs from the saved one, in {error}")
    mean = module.predict(torch.linspace(0, 1, 5, dtype=torch.float64)[:, None]).mean
    return Outcome("taken") if bool(mean.isfinite().all()) else Outcome("silent NaN", "predictions")
