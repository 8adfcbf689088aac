"""Whole numbers of a module that stay on the host, so that reading them waits for no device."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn


class Counters(nn.Module):
    """A module with counters, which are plain attributes but part of its state."""

    #: Names of the counters; all start at 0.
    counters: ClassVar[tuple[str, ...]] = ()

    def _start_counters(self) -> None:
        """Set all counters to 0; to be called by the constructor."""
        for name in self.counters:
            setattr(self, name, 0)

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        destination.update({prefix + name: torch.tensor(getattr(self, name)) for name in self.counters})
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Tensor],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for name in self.counters:
            if (value := state_dict.pop(prefix + name, None)) is None:
                missing_keys.append(prefix + name)
            elif value.ndim > 0:
                error_msgs.append(f"size mismatch for {prefix + name}: it is a single number, got {tuple(value.shape)}")
            else:
                setattr(self, name, int(value))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )
