"""The classes that a config may name: those of allowed packages, so that reading a config runs no other code."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from jsonargparse import set_parsing_settings

#: Packages whose classes may be named in configs and on the command line.
ALLOWED_PACKAGES = ("gpvae", "datamodules", "callbacks", "lightning", "torch.optim")
#: Exceptions, which would build any class that their arguments name.
FORBIDDEN_PACKAGES = ("gpvae.cli", "lightning.pytorch.cli", "jsonargparse")
OPTION = "--allow"


def split_allow_options(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of a command into packages that it allows and all other arguments.

    The option exists on the command line only: a config must not extend the list that restricts it.

    Args:
        args: Arguments of a command, such as `--allow my_package`.

    Raises:
        ValueError: A value is not the name of a package, or that of a forbidden one.
    """
    allowed, others = [], []
    remaining = iter(args)
    for arg in remaining:
        option, equals, value = arg.partition("=")
        if option != OPTION:
            others.append(arg)
            continue
        package = value if equals else next(remaining, "")
        if not all(part.isidentifier() for part in package.split(".")) or _is_within(package, FORBIDDEN_PACKAGES):
            raise ValueError(f"{OPTION} takes the name of a package of yours, such as my_package; got {package!r}")
        allowed.append(package)
    return allowed, others


@contextmanager
def restrict_classes(packages: Iterable[str]) -> Iterator[None]:
    """Restrict configs to classes of `ALLOWED_PACKAGES` and of these; others are refused before they are imported.

    Values of type Any are not instantiated, even if they look like a class, and nothing is read from the network.

    Args:
        packages: Further packages to allow inside the context.
    """
    extra = [package for package in packages if not _is_within(package, ALLOWED_PACKAGES)]
    set_parsing_settings(
        import_path_denylist=["*", *FORBIDDEN_PACKAGES],
        import_path_allowlist=[*ALLOWED_PACKAGES, *extra],
        instantiate_subclass_spec_in_any=False,
        config_read_mode_fsspec_enabled=False,
    )
    try:
        yield
    finally:
        set_parsing_settings(import_path_denylist=extra)  # settings accumulate


def refusal_message(path: str) -> str:
    """Return why a class is refused, and how to allow it.

    Args:
        path: Its import path.
    """
    if _is_within(path, FORBIDDEN_PACKAGES):
        return f"{path} is refused: it would build any class that its arguments name."
    return (
        f"{path} is refused: a config may name classes of {', '.join(ALLOWED_PACKAGES)}. If you trust it, add "
        f"{OPTION} {path.split('.')[0]} to the command."
    )


def _is_within(package: str, others: Iterable[str]) -> bool:
    return any(f"{package}.".startswith(f"{other}.") for other in others)
