"""A folder with a wheel and what it requires, taken from this environment: nothing else can be imported from it."""

import zipfile
from email import message_from_bytes
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement


def fill(folder: Path, wheel: Path) -> set[str]:
    """Unpack a wheel into an empty folder and link the packages that it requires without extras; return their names."""
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        required = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    missing, found = [Requirement(line) for line in required], set()
    while missing:
        requirement = missing.pop()
        extras = requirement.extras or {""}
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        name = requirement.name.lower().replace("_", "-")
        if name in found:
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:  # for another platform
            continue
        found.add(name)
        for part in {file.parts[0] for file in installed.files or []} - {"..", "__pycache__"}:
            if not (folder / part).exists():
                (folder / part).symlink_to(str(installed.locate_file(part)))
        missing += [Requirement(line) for line in installed.requires or []]
    return found
