"""The folders that hold data: files fetched once, and files that are computed or downloaded in the course of a run."""

import os
import stat
import tempfile
from pathlib import Path

import pooch


def data_dir() -> Path:
    """The data folder: `GPVAE_DATA_DIR` if set, else the user's cache folder."""
    chosen = os.environ.get("GPVAE_DATA_DIR")
    return Path(chosen).expanduser() if chosen else _user_cache()


def find_cached(relative: str) -> Path | None:
    """A file or folder of an earlier run, in any of the folders that `writable_folder` may have chosen; None if absent.

    Args:
        relative: Its path within the data folder.
    """
    return next((folder / relative for folder in _candidates() if (folder / relative).exists()), None)


def writable_folder(name: str) -> Path:
    """A folder for new files, created if needed: in the data folder, the user's cache or a temporary folder.

    The first of these that is writable is taken. A data folder without write permission for anybody is skipped, even if
    this user (root) could write to it.

    Args:
        name: The name of the folder.

    Raises:
        OSError: None of them is writable.
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
    folders = [data_dir(), _user_cache()]
    owner = os.getuid() if hasattr(os, "getuid") else None
    private = Path(tempfile.gettempdir()) / ("gpvae" if owner is None else f"gpvae-{owner}")
    if not private.is_symlink() and (not private.exists() or owner is None or private.stat().st_uid == owner):
        folders.append(private)  # never a folder that another user has created there
    return folders


def _user_cache() -> Path:
    return Path(pooch.os_cache("gpvae"))
