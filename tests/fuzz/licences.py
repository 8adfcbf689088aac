"""The licences of all dependencies: `python -m tests.fuzz.licences` prints them as a table."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent.parent


def direct_requirements() -> list[Requirement]:
    """Return the requirements in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [Requirement(line) for line in project["dependencies"]]


def normalise(name: str) -> str:
    """Return the normalised name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(requirements: list[Requirement], found: set[tuple[str, ...]]) -> Iterator[str]:
    """Yield the names of distributions that requirements need, including their own."""
    for requirement in requirements:
        name = normalise(requirement.name)
        key = (name, *sorted(requirement.extras))
        if key in found:
            continue
        found.add(key)
        try:
            below = [Requirement(line) for line in distribution(name).requires or []]
        except PackageNotFoundError:  # for another platform
            continue
        yield name
        extras = [{"extra": extra} for extra in ("", *requirement.extras)]
        yield from needed([r for r in below if r.marker is None or any(map(r.marker.evaluate, extras))], found)


def licence(name: str) -> str:
    """Return the licence that a distribution declares."""
    about = metadata(name)
    classified = [line.split(" :: ")[-1] for line in about.get_all("Classifier", []) if line.startswith("License ::")]
    return about.get("License-Expression") or "; ".join(classified) or about.get("License", "?").splitlines()[0]


if __name__ == "__main__":
    direct = {normalise(requirement.name) for requirement in direct_requirements()}
    for name in sorted(set(needed(direct_requirements(), set())), key=lambda name: (name not in direct, name)):
        print(f"| {name} | {'direct' if name in direct else ''} | {licence(name)} |")
