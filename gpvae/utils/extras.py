"""Optional packages, which are installed by extras of gpvae."""

from importlib import import_module


def require(package: str, extra: str, reason: str, error: type[Exception] = ValueError) -> None:
    """Raise unless a package is installed.

    Args:
        package: The package.
        extra: The extra of gpvae that installs it.
        reason: What needs it, as the beginning of a sentence.
        error: The error to raise.

    Raises:
        ValueError: The package cannot be imported; another error if one is given.
    """
    try:
        import_module(package)
    except (ImportError, RuntimeError) as cause:  # cfgrib raises a RuntimeError if eccodes is missing
        raise error(f"{reason}, which needs {package}: pip install 'gpvae[{extra}]' ({cause}).") from cause
