"""Where files that we make or download are kept."""

import os
import stat
import tempfile
from pathlib import Path

import pooch

from datamodules.public_files import data_dir


def kept(relative: str) -> Path | None:
    """A file or folder that an earlier run kept, wherever it could write then.

    Args:
        relative: Its path within the data folder.
    """
    return next((folder / relative for folder in _candidates() if (folder / relative).exists()), None)


def writable_folder(name: str) -> Path:
    """A folder to keep files in: within the data folder, or the user's cache, or a temporary one.

    A data folder that nobody may write to, by its permissions, is left alone even by those who could.

    Args:
        name: The name of the folder.

    Raises:
        OSError: None of them can be written to.
    """
    failures = []
    for base in _candidates():
        try:
            if base.exists() and not base.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
                raise PermissionError("it is read-only")
            folder = base / name
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError as error:
            failures.append(f"\n  {base}: {error}")
    raise OSError(f"No folder to keep {name} in:{''.join(failures)}\nSet GPVAE_DATA_DIR to one you can write to.")


def _candidates() -> list[Path]:
    folders = [data_dir(), Path(pooch.os_cache("gpvae"))]
    owner = os.getuid() if hasattr(os, "getuid") else None
    private = Path(tempfile.gettempdir()) / ("gpvae" if owner is None else f"gpvae-{owner}")
    if not private.is_symlink() and (not private.exists() or owner is None or private.stat().st_uid == owner):
        folders.append(private)  # among folders of many users, nobody else's files are taken for ours
    return folders
