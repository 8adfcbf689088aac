"""Modules whose state changes as a whole or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn

from gpvae.utils.threads import lock_of


class Transactional(nn.Module):
    """A module that returns to its former state if a change fails."""

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Within the block, any error restores the state from before. Other threads wait until it has ended."""
        with lock_of(self):
            before = {name: value.clone() for name, value in self.state_dict().items()}
            try:
                yield
            except BaseException:
                super().load_state_dict(before)
                raise

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Load the state of a module built in the same way; on any error this module stays as it was."""
        with self.all_or_nothing():
            return super().load_state_dict(state_dict, *args, **kwargs)
