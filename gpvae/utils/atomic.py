"""Files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write to the path that is given, and it takes the place of the file at the end; if anything fails, nothing does.

    Whoever reads the file meanwhile finds the old one or the new one.

    Args:
        path: The file; its folder is made if need be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        publish(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def publish(unfinished: Path, path: Path) -> None:
    """Give a file that is complete its name, once the disk has all of it: a loss of power leaves no half of it either.

    Args:
        unfinished: The file.
        path: Its name from now on.
    """
    with unfinished.open("r+b") as file:
        os.fsync(file.fileno())
    os.replace(unfinished, path)
