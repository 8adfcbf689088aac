"""What made the page: the package, its version and, where the installation has recorded it, its commit."""

import json
from importlib.metadata import PackageNotFoundError, distribution


def program() -> str:
    """The package in words, such as `gpvae 0.1.0 (commit 0123456789ab)`."""
    try:
        package = distribution("gpvae")
    except PackageNotFoundError:  # used from its folder without being installed
        return "gpvae"
    commit = _commit(package.read_text("direct_url.json") or "{}")
    return f"gpvae {package.version}" + (f" (commit {commit[:12]})" if commit else "")


def _commit(recorded: str) -> str:
    """The commit that pip installed, if it installed one (PEP 610)."""
    try:
        return str(json.loads(recorded)["vcs_info"]["commit_id"])
    except (ValueError, KeyError, TypeError):
        return ""
