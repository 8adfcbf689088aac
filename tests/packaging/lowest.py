"""Prints the lowest versions that pyproject.toml declares, as constraints for pip: `make test-lowest` installs them."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

#: Extras whose packages are tools, not dependencies.
TOOLS = ("dev", "docs", "reproduce")


def lowest(pyproject: Path) -> Iterator[str]:
    """Yield `name==version` for every dependency of the package and of its extras."""
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = project["optional-dependencies"]
    chosen = [requirement for name, extra in extras.items() if name not in TOOLS for requirement in extra]
    for requirement in [*project["dependencies"], *chosen]:
        if match := re.match(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", requirement):
            yield "==".join(match.groups())


if __name__ == "__main__":
    print("\n".join(lowest(Path(sys.argv[1]))))
