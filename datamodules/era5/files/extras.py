"""Packages that only some formats need."""

from importlib import import_module


def require(package: str, extra: str, reason: str) -> None:
    """Raise unless a package is installed.

    Args:
        package: The package.
        extra: The extra of gpvae that brings it.
        reason: What needs it, as the beginning of a sentence.

    Raises:
        ValueError: It cannot be imported.
    """
    try:
        import_module(package)
    except (ImportError, RuntimeError) as error:  # cfgrib raises a RuntimeError if eccodes is missing
        raise ValueError(f"{reason}, which needs {package}: pip install 'gpvae[{extra}]' ({error}).") from error
