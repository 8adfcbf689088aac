"""Files and folders that are written completely or not at all.

They are written under a temporary name, flushed to the disk, and then renamed. Readers see either the old content or
the new one, and neither a killed process nor a power failure leaves half of it under the final name.
"""

import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY_FOLDER = "making-"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replace a file by the one written to the temporary path that is yielded; on any error, it stays as it was.

    Args:
        path: The file; its folder is created if needed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def publish(temporary: Path, path: Path) -> None:
    """Flush a complete file to the disk, and rename it.

    Args:
        temporary: The file.
        path: Its final name.
    """
    _flush(temporary)
    os.replace(temporary, path)


@contextmanager
def creating_folder(folder: Path) -> Iterator[Path]:
    """Create a folder from the files written to the temporary one that is yielded; on any error, nothing is left of it.

    If another process creates the folder first, theirs is kept.

    Args:
        folder: The folder; its parent exists.
    """
    temporary = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
    try:
        yield temporary
        for path in temporary.iterdir():
            _flush(path)
        try:
            temporary.replace(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_abandoned(folder: Path, exclusive: bool, max_age: float = 24 * 3600.0) -> None:
    """Remove what killed processes have left of `creating_folder`, and nothing that one may still be writing.

    Temporary folders for other folders, or of other machines, are removed only when they are old: other locks protect
    them, or a lock that may hold on one machine only.

    Args:
        folder: The folder to be created.
        exclusive: Whether no other process of this machine can be creating it.
        max_age: Seconds since the last write after which any temporary folder counts as abandoned.
    """
    for path in folder.parent.glob(f"{TEMPORARY_FOLDER}*"):
        if (exclusive and path.name.startswith(_prefix(folder))) or _age(path) > max_age:
            shutil.rmtree(path, ignore_errors=True)


def process_name() -> str:
    """The machine and the number of this process, for temporary names that identify their owner."""
    return f"{_machine()}-{os.getpid()}"


def remove_leftovers(folder: Path, prefix: str = ".", max_age: float = 24 * 3600.0) -> None:
    """Remove temporary files and folders that killed processes have left: `<prefix>....<process_name()>`.

    Those of other machines, and files of `replacing`, are removed when they are old.

    Args:
        folder: The folder that they are in.
        prefix: How their names begin.
        max_age: Seconds since the last write after which any of them counts as abandoned.
    """
    for path in folder.glob(f"{prefix}*"):
        owner = re.search(r"[.-](?:(\w+)-)?(\d+)$", path.name)
        if owner is None or path == folder:
            continue
        dead = owner[1] == _machine() and not _is_alive(int(owner[2]))
        if dead or _age(path) > max_age:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    """Whether a process of this machine is alive; where that cannot be checked, it is assumed."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def _machine() -> str:
    return re.sub(r"\W", "_", platform.node())


def _prefix(folder: Path) -> str:
    return f"{TEMPORARY_FOLDER}{folder.name}-{_machine()}-"


def _age(folder: Path) -> float:
    """Seconds since the last write to a file or folder."""
    try:
        within = folder.iterdir() if folder.is_dir() else ()
        return time.time() - max(path.stat().st_mtime for path in (folder, *within))
    except OSError:  # it has just been renamed or removed
        return 0.0


def _flush(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())  # includes pages written through a memory map
