"""The sources as a build sees them: what git keeps or would keep, without caches and results."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("gpvae", "datamodules", "callbacks")


def files() -> list[Path]:
    """Paths of all files that git does not ignore, committed or not; skips the test where there is no git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this is no checkout, so what belongs to it is not known: {error}")
    return sorted({Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()})


def copy_to(folder: Path) -> list[Path]:
    """Copy those files to a folder, without the history, and return their paths in it."""
    paths = files()
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    return paths
