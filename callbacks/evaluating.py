"""Evaluation in the middle of training."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from lightning import LightningModule
from lightning.pytorch.utilities.seed import isolate_rng


@contextmanager
def evaluating(module: LightningModule) -> Iterator[None]:
    """Evaluation mode without gradients; restores the modes of the module and all random states."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        with torch.no_grad(), isolate_rng():
            yield
    finally:
        for part, training in modes:
            part.training = training
