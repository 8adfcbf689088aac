"""Modules whose state changes as a whole or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from gpvae.utils.memory import check_fits
from gpvae.utils.threads import lock_of

#: Bound of the values of a state; larger ones overflow when they are multiplied.
LARGEST = 1e100


class Transactional(nn.Module):
    """A module that returns to its former state if a change fails."""

    @contextmanager
    def all_or_nothing(self, *parts: nn.Module) -> Iterator[None]:
        """Within the block, any error restores the state from before. Other threads wait until it has ended.

        Args:
            parts: The parts that change within the block; the whole module if not given.
        """
        with lock_of(self):
            states = [(part, part.state_dict()) for part in parts or (self,)]
            before = [(part, {name: value.clone() for name, value in state.items()}) for part, state in states]
            try:
                yield
            except BaseException:
                for part, state in before:  # a failed load may have moved buffers to files, hence not strict
                    nn.Module.load_state_dict(part, state, strict=False)
                raise

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Load the state of a module built in the same way; on any error this module stays as it was."""
        with self.all_or_nothing():
            check_entries(self, state_dict)
            loaded = super().load_state_dict(state_dict, *args, **kwargs)
            self.check_state()
            return loaded

    def check_state(self) -> None:
        """Raise ValueError if a state that has been loaded contradicts itself, here or in a part."""
        for name, parameter in self.named_parameters():
            if not bool((parameter.abs() < LARGEST).all()):
                raise ValueError(f"the state has NaN or infinite values in {name}")
        for part in self.modules():
            if isinstance(part, Transactional) and part is not self:
                part.check_state()


def check_entries(module: nn.Module, state_dict: Mapping[str, Any]) -> None:
    """Raise unless a state has dense tensors only, of the same kinds of numbers as a module's, that fit in memory.

    Args:
        module: The module.
        state_dict: The state, before it is loaded.

    Raises:
        ValueError: It has something else.
    """
    own = module.state_dict()
    for name, value in state_dict.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise ValueError(f"the state has {type(value).__name__} in {name!r}: a state has names and tensors only")
        if value.layout != torch.strided or value.is_quantized or value.is_complex():
            raise ValueError(f"the state has a tensor of {value.dtype}, {value.layout}, in {name}: give dense numbers")
        if name in own and value.is_floating_point() > own[name].is_floating_point():
            raise ValueError(f"the state has {value.dtype} in {name}, which has {own[name].dtype}")
    needed = sum(value.numel() * value.element_size() for value in state_dict.values())
    check_fits(needed, "the tensors of the state", "load it on a machine with more memory")
