"""Errors of the libraries that read a file, raised as errors that name the file."""

from collections.abc import Iterator
from contextlib import contextmanager

PACKAGES = ("datamodules", "gpvae")


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Raise errors of libraries as an error that names the damaged file. Our own errors are not changed.

    Args:
        name: The name of the file in messages.

    Raises:
        ValueError: The file is damaged, or too large.
    """
    try:
        yield
    except MemoryError as error:
        raise ValueError(f"{name} does not fit in memory: cut out the region and hours that are needed.") from error
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        module = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
        if isinstance(error, ValueError) and module.split(".")[0] in PACKAGES:
            raise
        raise ValueError(f"{name} is damaged and cannot be opened: {error}. Download it again.") from error
