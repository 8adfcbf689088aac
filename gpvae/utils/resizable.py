"""Module state whose shapes are only known once data have been seen."""

from itertools import chain
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn


def assign(target: Tensor, value: Tensor) -> None:
    """Assign `value` to a buffer or parameter in place, even if its shape differs.

    It is made contiguous like a loaded state, because the last bits of matrix products depend on the layout.
    """
    target.data = value.detach().to(target).clone(memory_format=torch.contiguous_format)


def rename_former_children(module: Any, state_dict: dict[str, Any], prefix: str, *_: object) -> None:  # noqa: ANN401
    """Rename children in a state that was saved when they had other names; a `load_state_dict` pre-hook.

    Args:
        module: A module whose `former_children` maps former names of its children to present ones.
        state_dict: The state, changed in place.
        prefix: Prefix of the module in the state.
    """
    for former, name in module.former_children.items():
        for key in [key for key in state_dict if str(key).startswith(f"{prefix}{former}.")]:
            state_dict[f"{prefix}{name}.{key.removeprefix(f'{prefix}{former}.')}"] = state_dict.pop(key)


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have the same values, up to rounding by a change of precision or device."""
    if a.shape != b.shape:
        return False
    return torch.allclose(a, b, rtol=100 * torch.finfo(b.dtype).eps, atol=0.0)


def expect_buffers(module: nn.Module, state_dict: dict[str, Any], prefix: str, *names: str) -> None:
    """Accept other shapes of buffers in a state, and states saved before these existed, which leave them as they are.

    Args:
        module: The module, before the state is loaded into it.
        state_dict: The state, changed in place.
        prefix: Prefix of the module in the state.
        names: Names of the buffers.
    """
    for name in names:
        buffer = module.get_buffer(name)
        shape = state_dict.setdefault(prefix + name, buffer).shape
        if shape != buffer.shape:
            buffer.data = buffer.new_empty(shape)


class Resizable(nn.Module):
    """A module whose own buffers and parameters take the shapes of the state that is loaded into them.

    A checksum of the configuration is saved with the state, which cannot be loaded into a module with another one.
    """

    signature: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("signature", torch.zeros((), dtype=torch.int64))

    @property
    def configuration(self) -> str:
        """Options that a state must share with the module that it is loaded into."""
        return type(self).__name__

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        self.signature.fill_(crc32(self.configuration.encode()))
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *args: Any, **kwargs: Any) -> None:
        signature = state_dict.get(f"{prefix}signature")
        if signature is not None and not signature.is_meta and int(signature) != crc32(self.configuration.encode()):
            raise ValueError(
                f"the state was not saved from {self.configuration}; build the model as it was built when the state "
                "was saved"
            )
        for name, tensor in chain(self._parameters.items(), self._buffers.items()):
            incoming = state_dict.get(prefix + name)
            if tensor is not None and incoming is not None and incoming.shape != tensor.shape:
                tensor.data = tensor.new_empty(incoming.shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
