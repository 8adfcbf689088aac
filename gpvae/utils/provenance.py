"""The version of gpvae, for the files it writes: the commit of a checkout, else that of the installation."""

import json
import os
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The suffix that git adds where there are uncommitted changes.
DIRTY = "-dirty"
GIT_TIMEOUT = 10  # seconds


@cache
def program() -> str:
    """The package and its version, such as `gpvae at v0.1.0-3-g0123456789ab, with changes` or `gpvae 0.1.0`.

    An editable installation records the version it had when it was installed, so a checkout takes precedence.
    """
    if described := _git_describe(ROOT):
        return f"gpvae at {described.removesuffix(DIRTY)}" + (", with changes" if described.endswith(DIRTY) else "")
    try:
        package = distribution("gpvae")
    except PackageNotFoundError:  # used from its folder without being installed
        return "gpvae"
    commit = _commit(package.read_text("direct_url.json") or "{}")
    return f"gpvae {package.version}" + (f" (commit {commit[:12]})" if commit else "")


def _git_describe(folder: Path) -> str:
    """The result of `git describe` in a checkout; empty if the folder is not one, or git fails."""
    if not (folder / ".git").exists():
        return ""
    # Without the variables that a hook of another repository has set.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(folder), "describe", "--tags", "--always", "--dirty", "--abbrev=12"]
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_TIMEOUT, env=environment, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _commit(recorded: str) -> str:
    """The commit that pip installed from, if any (PEP 610)."""
    try:
        return str(json.loads(recorded)["vcs_info"]["commit_id"])
    except (ValueError, KeyError, TypeError):
        return ""
