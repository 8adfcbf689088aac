"""Where the packages `callbacks` and `datamodules` are found.

In the repository they are folders next to `gpvae`. A wheel has them inside it, so that it puts no common names into an
environment. `gpvae.callbacks` and `gpvae.datamodules` name them in both. The short names, by which configs and code may
refer to them, are the same modules, unless a module of the user has the name: then the user's own code gets that.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

NAMES = ("callbacks", "datamodules")


def find(name: str) -> ModuleSpec | None:
    """The spec of one of our packages, inside `gpvae` or next to it."""
    package = Path(__file__).resolve().parents[1]
    folder = package if (package / name).is_dir() else package.parent
    return PathFinder.find_spec(name, [str(folder)])


class ShortNames(MetaPathFinder):
    """Finds our packages by their short names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of one of our packages; their modules are found as usual."""
        return find(fullname) if fullname in NAMES else None


class LongNames(MetaPathFinder, Loader):
    """Finds `gpvae.datamodules.x` as `datamodules.x`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of our packages by its long name."""
        parent, *rest = fullname.split(".")
        ours = parent == "gpvae" and rest[:1] and rest[0] in NAMES
        return ModuleSpec(fullname, self, is_package=True) if ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of the short name, which is ours from now on, because our own code uses it."""
        claim()
        module = import_module(spec.name.removeprefix("gpvae."))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Keep the module as it is, with its spec by the short name, which the import has replaced."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def register() -> None:
    """Find our packages by both names, by the short one only if there is no other module of that name."""
    if not any(isinstance(finder, LongNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, LongNames())
        sys.meta_path.append(ShortNames())


def claim() -> None:
    """From now on, the short names are our packages, even if the working folder has others.

    Raises:
        ImportError: Another module of the name has been imported already.
    """
    for name in NAMES:
        present, ours = sys.modules.get(name), find(name)
        if present is None or ours is None or ours.origin is None:
            continue
        file = getattr(present, "__file__", None)
        if file is None or Path(file).resolve() != Path(ours.origin).resolve():
            raise ImportError(f"{file or name} hides the package {name} of gpvae: rename it, or import gpvae before it")
    if not isinstance(sys.meta_path[0], ShortNames):
        sys.meta_path.insert(0, ShortNames())
