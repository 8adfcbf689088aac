"""Which gpvae this is, for what it writes: the commit of a checkout, else what the installation has recorded."""

import json
import os
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Ends the name of a commit that is not all there is.
DIRTY = "-dirty"
#: Seconds after which git is not waited for.
PATIENCE = 10


@cache
def program() -> str:
    """The package in words, such as `gpvae at v0.1.0-3-g0123456789ab, with changes` or `gpvae 0.1.0`.

    An editable installation records the version it had when it was made, so a checkout is asked first.
    """
    if described := _described(ROOT):
        return f"gpvae at {described.removesuffix(DIRTY)}" + (", with changes" if described.endswith(DIRTY) else "")
    try:
        package = distribution("gpvae")
    except PackageNotFoundError:  # used from its folder without being installed
        return "gpvae"
    commit = _commit(package.read_text("direct_url.json") or "{}")
    return f"gpvae {package.version}" + (f" (commit {commit[:12]})" if commit else "")


def _described(folder: Path) -> str:
    """What git calls the commit of a checkout; empty where the folder is none, or git cannot say."""
    if not (folder / ".git").exists():
        return ""
    # What a hook of another repository has set does not matter here.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(folder), "describe", "--tags", "--always", "--dirty", "--abbrev=12"]
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _commit(recorded: str) -> str:
    """The commit that pip installed, if it installed one (PEP 610)."""
    try:
        return str(json.loads(recorded)["vcs_info"]["commit_id"])
    except (ValueError, KeyError, TypeError):
        return ""
