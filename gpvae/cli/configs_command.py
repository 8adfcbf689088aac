"""`gpvae configs` lists and copies the configs that come with the package."""

import shutil
import sys
import textwrap
from argparse import ArgumentError, ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from gpvae.cli.shipped_configs import SUFFIX, read_description, shipped_configs
from gpvae.cli.subcommand import Subcommand
from gpvae.utils.atomic import replacing
from gpvae.utils.spelling import nearest


class ConfigsCommand(Subcommand):
    """Lists configs, or copies them."""

    name = "configs"
    description = "List the configs that come with the package, or copy them in order to edit them."
    epilog = "`gpvae fit -c NAME` runs one as it is. Existing files that differ are never replaced."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add names and folders."""
        parser.add_argument("names", nargs="*", metavar="NAME", help="configs to copy; default: list all of them")
        parser.add_argument("--output", type=Path, metavar="FOLDER", help="where to copy NAME; default: this folder")
        parser.add_argument("--copy", type=Path, metavar="FOLDER", help="copy every config to this folder")

    def run(self, arguments: Namespace) -> None:
        """List or copy."""
        names, output, copy = arguments.names, arguments.output, arguments.copy
        if names and copy is not None:
            raise ArgumentError(None, "--copy copies every config; to copy NAME only, give --output FOLDER instead")
        if output is not None and not names:
            raise ArgumentError(None, "--output requires NAME, and no NAME is given; --copy FOLDER copies every config")
        if names or copy is not None:
            print(*copy_configs(names or shipped_configs(), copy or output or Path()), sep="\n")
        else:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
            print(*list_configs(width), sep="\n")


def list_configs(width: int) -> Iterator[str]:
    """Yield lines that describe the configs, grouped by data set.

    Args:
        width: Maximum number of columns of a line.
    """
    configs = shipped_configs()
    column = max(map(len, configs), default=0)
    for data, names in groupby(configs, key=lambda name: name.partition("_")[0]):
        yield data
        for name in names:
            text = f"  {name:<{column}}  {read_description(configs[name])}"
            yield textwrap.fill(text, width, subsequent_indent=" " * (column + 4), break_on_hyphens=False)


def copy_configs(names: Iterable[str], folder: Path) -> list[Path]:
    """Copy configs, all of them or none. A file that differs is never replaced.

    Args:
        names: Names of configs.
        folder: Where to copy them; created if necessary.

    Returns:
        The copies.

    Raises:
        ValueError: There is no config of a name.
        FileExistsError: The folder has a different file of that name.
    """
    configs = shipped_configs()
    targets: dict[Path, Path] = {}
    for name in names:
        source = configs.get(name.removesuffix(SUFFIX))
        if source is None:
            raise ValueError(f"there is no config {name!r}{nearest(name, configs)}; `gpvae configs` lists all configs")
        targets[source] = folder / source.name
    for source, target in targets.items():
        if target.exists() and target.read_bytes() != source.read_bytes():
            raise FileExistsError(
                f"{target} exists and differs from the config of that name; nothing was copied. Move it away, or give "
                "another folder"
            )
    for source, target in targets.items():
        with replacing(target) as unfinished:
            shutil.copyfile(source, unfinished)
    return list(targets.values())
