"""The source files: those that git tracks or would track, without caches and results."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("gpvae", "datamodules", "callbacks")


def files() -> list[Path]:
    """Return the paths of all files that git does not ignore, committed or not; skip the test without git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"not a git checkout, so its files are unknown: {error}")
    return sorted({Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()})


def copy_to(folder: Path) -> list[Path]:
    """Copy these files to a folder, without the history, and return their relative paths."""
    paths = files()
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    return paths
