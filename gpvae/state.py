"""Module state whose shapes are only known once data have been seen."""

from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn


def assign(target: Tensor, value: Tensor) -> None:
    """Put `value` into a buffer or parameter in place, whatever its shape was."""
    target.data = value.detach().to(device=target.device, dtype=target.dtype, copy=True)


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same values, up to what a change of precision or device may do to them."""
    if a.shape != b.shape:
        return False
    return torch.allclose(a, b, rtol=100 * torch.finfo(b.dtype).eps, atol=0.0)


class Resizable(nn.Module):
    """A module whose own buffers and parameters take the shapes of the state that is loaded into them."""

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *args: Any, **kwargs: Any) -> None:
        for name, tensor in chain(self._parameters.items(), self._buffers.items()):
            incoming = state_dict.get(prefix + name)
            if tensor is not None and incoming is not None and incoming.shape != tensor.shape:
                tensor.data = tensor.new_empty(incoming.shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
