"""Which classes a config may name: those of packages on a list, so that reading a config runs nobody else's code."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from jsonargparse import set_parsing_settings

#: Whatever is in one of these may be named in configs and on the command line.
PACKAGES = ("gpvae", "datamodules", "callbacks", "lightning", "torch.optim")
#: These would build whatever they are told to, past the list.
NEVER = ("gpvae.cli", "lightning.pytorch.cli", "jsonargparse")
OPTION = "--allow"


def allowed_by(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What a command allows besides, and its other words.

    Only the words of a command are asked, never a config: it must not widen what it may name itself.

    Args:
        words: The words of a command, such as `--allow my_package`.

    Raises:
        ValueError: What is allowed is no package.
    """
    allowed, others = [], []
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option != OPTION:
            others.append(word)
            continue
        package = value if equals else next(rest, "")
        if not all(part.isidentifier() for part in package.split(".")) or _is_within(package, NEVER):
            raise ValueError(f"{OPTION} takes the name of a package of yours, such as my_package; got {package!r}")
        allowed.append(package)
    return allowed, others


@contextmanager
def only_from(packages: Iterable[str]) -> Iterator[None]:
    """Let configs name nothing but classes of `PACKAGES` and of these; others are refused before they are imported.

    Values that may be anything stay as they are given, even if they look like a class, and nothing is read from the
    network.

    Args:
        packages: Packages to be allowed besides, while this lasts.
    """
    more = [package for package in packages if not _is_within(package, PACKAGES)]
    set_parsing_settings(
        import_path_denylist=["*", *NEVER],
        import_path_allowlist=[*PACKAGES, *more],
        instantiate_subclass_spec_in_any=False,
        config_read_mode_fsspec_enabled=False,
    )
    try:
        yield
    finally:
        set_parsing_settings(import_path_denylist=more)


def how_to_allow(path: str) -> str:
    """Why a class is refused, and what to do about it.

    Args:
        path: Its import path.
    """
    if _is_within(path, NEVER):
        return f"{path} is refused: it would build whatever it is told to."
    return (
        f"{path} is refused: a config may name what is in {', '.join(PACKAGES)}. If you trust it, add {OPTION} "
        f"{path.split('.')[0]} to the command."
    )


def _is_within(package: str, others: Iterable[str]) -> bool:
    return any(f"{package}.".startswith(f"{other}.") for other in others)
