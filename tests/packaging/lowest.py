"""Prints the lowest versions that pyproject.toml declares, as constraints for pip: `make test-lowest` installs them.

Arguments such as `torch==2.13.0` take the place of the lowest version of that package.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

#: Extras that are left out: tools, and packages that need newer versions than ours of what we both build on.
LEFT_OUT = ("dev", "docs", "reproduce", "river", "botorch")


def lowest(pyproject: Path, instead: Sequence[str] = ()) -> Iterator[str]:
    """Yield `name==version` for every dependency of the package and of its extras.

    Args:
        pyproject: The file.
        instead: `name==version` of packages that are not to be of the lowest version.
    """
    versions = dict(pin.split("==") for pin in instead)
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = project["optional-dependencies"]
    chosen = [requirement for name, extra in extras.items() if name not in LEFT_OUT for requirement in extra]
    for requirement in [*project["dependencies"], *chosen]:
        if match := re.match(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", requirement):
            name, version = match.groups()
            yield f"{name}=={versions.get(name, version)}"


if __name__ == "__main__":
    print("\n".join(lowest(Path(sys.argv[1]), sys.argv[2:])))
