"""The classes that a config may name: those meant for configs, so that reading a config runs no other code."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from jsonargparse import _common, set_parsing_settings
from jsonargparse._util import import_object
from lightning.fabric.accelerators.accelerator import Accelerator
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.pytorch.callbacks import Callback, LambdaCallback, ThroughputMonitor
from lightning.pytorch.callbacks.progress.rich_progress import RichProgressBarTheme
from lightning.pytorch.loggers import Logger
from lightning.pytorch.plugins import CheckpointIO, LayerSync, Precision
from lightning.pytorch.profilers import Profiler
from lightning.pytorch.strategies import Strategy
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, MultiplicativeLR

from datamodules import TaskStream
from gpvae.modules import ContinualModule

#: Packages of which classes derived from `BASES` may be named in configs and on the command line.
ALLOWED_PACKAGES = ("gpvae", "datamodules", "callbacks", "lightning", "torch.optim")
BASES = (
    *(ContinualModule, TaskStream, Callback, Logger, Strategy, Accelerator, Profiler),
    *(Precision, CheckpointIO, ClusterEnvironment, LayerSync),  # plugins
    *(Optimizer, LRScheduler),  # arguments of classes that `--allow` adds
)
#: Classes that may be named although they are derived from no base: they are arguments of classes that are.
FURTHER_CLASSES = (RichProgressBarTheme,)
#: Classes derived from a base that are useless without a function.
CLASSES_OF_FUNCTIONS = (LambdaCallback, ThroughputMonitor, LambdaLR, MultiplicativeLR)
#: Packages that `--allow` cannot add: they would build any class that their arguments name.
FORBIDDEN_PACKAGES = ("gpvae.cli", "lightning.pytorch.cli", "jsonargparse")
OPTION = "--allow"


def split_allow_options(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of a command into names that it allows and all other arguments.

    The option exists on the command line only: a config must not extend the list that restricts it.

    Args:
        args: Arguments of a command, such as `--allow my_package`.

    Raises:
        ValueError: A value is not the name of a package or class, or that of a forbidden one.
    """
    allowed, others = [], []
    remaining = iter(args)
    for arg in remaining:
        option, equals, value = arg.partition("=")
        if option != OPTION:
            others.append(arg)
            continue
        name = value if equals else next(remaining, "")
        if not all(part.isidentifier() for part in name.split(".")) or _is_within(name, FORBIDDEN_PACKAGES):
            raise ValueError(f"{OPTION} takes the name of one of your packages, such as my_package; got {name!r}")
        allowed.append(name)
    return allowed, others


@contextmanager
def restrict_classes(names: Iterable[str]) -> Iterator[None]:
    """Restrict configs to classes that are meant for them; any other import path is refused before it is imported.

    All imports of the parser ask `denying_import_path_entry`, whatever the type of the option. It is replaced here;
    the setting beside it denies everything, so that nothing is allowed if a later parser asks elsewhere.

    Values of type Any are not instantiated, even if they look like a class, and nothing is read from the network.

    What is allowed beside it may be a module in the working folder.

    Args:
        names: Packages and classes to allow as well, inside the context. Their functions are refused all the same.
    """
    allowed = tuple(names)

    def check(path: str) -> None:
        if message := refusal_message(path, allowed):
            raise _common.ImportDenied(message.replace(path, f"'{path}'"))  # the parser drops unquoted ones

    settings, original = dict(_common.parsing_settings), _common.denying_import_path_entry
    set_parsing_settings(
        import_path_denylist=["*"], instantiate_subclass_spec_in_any=False, config_read_mode_fsspec_enabled=False
    )
    _common.denying_import_path_entry = check
    here = os.getcwd()
    adds_here = bool(allowed) and here not in sys.path  # `python -m` looks there, an installed command does not
    if adds_here:
        sys.path.append(here)
    try:
        yield
    finally:
        if adds_here:
            sys.path.remove(here)
        _common.denying_import_path_entry = original
        _common.parsing_settings.update(settings)


def refusal_message(path: str, allowed: Sequence[str] = ()) -> str | None:
    """Return why an import path is refused, and how to allow it; None if a config may name it.

    Of the packages that are allowed by default no module is imported that is not imported already.

    Args:
        path: The import path.
        allowed: Names of packages and classes that are allowed as well.
    """
    if _is_within(path, FORBIDDEN_PACKAGES):
        return f"{path} is refused: it would build any class that its arguments name."
    by_name = _is_within(path, allowed) or any(_defining_path(_find_imported(name)) == path for name in allowed)
    if not by_name and not _is_within(path, ALLOWED_PACKAGES):
        return (
            f"{path} is refused: a config may name classes of {', '.join(ALLOWED_PACKAGES)}. If you trust it, add "
            f"{OPTION} {path.split('.')[0]} to the command."
        )
    found = import_object(path, check_path=False) if by_name else _find_imported(path)
    if found is None:
        return f"{path} is refused: there is no such class."
    if not isinstance(found, type):
        return f"{path} is refused: it is not a class, and a config may name classes only."
    if by_name or is_meant_for_configs(found):
        return None
    return (
        f"{path} is refused: a config may name models, data, callbacks, loggers, strategies, plugins, accelerators and "
        f"profilers that need no function. If you trust it, add {OPTION} {path} to the command."
    )


def is_meant_for_configs(cls: type) -> bool:
    """Whether any config may name a class.

    Args:
        cls: The class.
    """
    return (
        _is_within(cls.__module__, ALLOWED_PACKAGES)
        and not _is_within(cls.__module__, FORBIDDEN_PACKAGES)
        and issubclass(cls, (*BASES, *FURTHER_CLASSES))
        and not issubclass(cls, CLASSES_OF_FUNCTIONS)
    )


def _find_imported(path: str) -> object | None:
    """Return what a module that is imported already has by a name; None if there is no such module or name."""
    module, _, name = path.rpartition(".")
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


def _defining_path(found: object | None) -> str | None:
    return f"{found.__module__}.{found.__qualname__}" if isinstance(found, type) else None


def _is_within(name: str, others: Iterable[str]) -> bool:
    return any(f"{name}.".startswith(f"{other}.") for other in others)
