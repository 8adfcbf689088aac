"""Losses that must be finite, checked without waiting for each of them."""

import math

import torch
from torch import Tensor

#: Number of steps after which the losses of an accelerator are read; those of the host are read at once.
CHECK_EVERY = 16


class FiniteLosses:
    """The losses of steps that have not been checked yet."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._losses: list[Tensor] = []

    def add(self, step: int, loss: Tensor) -> tuple[int, float] | None:
        """Add the loss of a step, and check all of them when it is time; see `check`."""
        self._steps.append(step)
        self._losses.append(loss.detach())
        due = loss.device.type == "cpu" or len(self._losses) >= CHECK_EVERY
        return self.check() if due else None

    def check(self) -> tuple[int, float] | None:
        """The first step with a loss that is not finite, and this loss; None if there is no such step."""
        values = torch.stack(self._losses).tolist() if self._losses else []
        steps, self._steps, self._losses = self._steps, [], []
        return next((pair for pair in zip(steps, values, strict=True) if not math.isfinite(pair[1])), None)
