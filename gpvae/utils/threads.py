"""Locks for modules that several threads use."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from torch import nn

Method = TypeVar("Method", bound=Callable[..., Any])

_GUARD = threading.Lock()
#: A lock for each module, kept outside it because locks cannot be copied or pickled.
_LOCKS: "WeakKeyDictionary[nn.Module, threading.RLock]" = WeakKeyDictionary()


def lock_of(module: nn.Module) -> threading.RLock:
    """The lock of a module, which a thread may take several times."""
    with _GUARD:
        return _LOCKS.setdefault(module, threading.RLock())


def one_at_a_time(method: Method) -> Method:
    """Make a method of a module wait until no other thread changes the module."""

    @wraps(method)
    def waiting(self: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        with lock_of(self):
            return method(self, *args, **kwargs)

    return cast(Method, waiting)
