"""The README for PyPI, which shows it without the repository: relative links and pictures get addresses.

The address is `Repository` under `[project.urls]` in pyproject.toml. All else about the build is in that file, too.
"""

import re
import sys
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools_scm import get_version

PICTURES = {".png", ".svg"}
RELATIVE = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")  # the end of a Markdown link


def with_addresses(text: str, repository: str, version: str) -> str:
    """Return the text with links into the repository as it was at a version, or is now if that is not a release."""
    revision = f"v{version}" if re.fullmatch(r"[\d.]+", version) else "HEAD"

    def address(link: re.Match[str]) -> str:
        kind = "raw" if Path(link[1]).suffix in PICTURES else "blob"  # as GitHub and GitLab name them
        return f"]({repository.rstrip('/')}/{kind}/{revision}/{link[1]})"

    return RELATIVE.sub(address, text)


if __name__ == "__main__":
    readme = Path("README.md").read_text(encoding="utf-8")
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    if repository := project.get("urls", {}).get("Repository"):
        readme = with_addresses(readme, repository, get_version(fallback_version="0.dev0"))
    else:
        print("README.md: no links on PyPI without a Repository in [project.urls] of pyproject.toml", file=sys.stderr)
    setup(long_description=readme, long_description_content_type="text/markdown")
