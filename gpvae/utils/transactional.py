"""Modules whose state changes as a whole or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn

from gpvae.utils.threads import lock_of


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
                for part, state in before:
                    nn.Module.load_state_dict(part, state)
                raise

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Load the state of a module built in the same way; on any error this module stays as it was."""
        with self.all_or_nothing():
            loaded = super().load_state_dict(state_dict, *args, **kwargs)
            self.check_state()
            return loaded

    def check_state(self) -> None:
        """Raise ValueError if a state that has been loaded contradicts itself."""
        return
