"""The configs that come with the package: `gpvae configs` lists and copies them, `gpvae fit -c NAME` finds them."""

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from lightning.pytorch.utilities import rank_zero_info

from gpvae.utils.atomic import replacing
from gpvae.utils.checks import nearest

SUFFIX = ".yaml"
OPTIONS = ("-c", "--config")
#: Else the value of such an option is a config written out, or a path that is best left to the parser.
PLAIN_PATH = re.compile(r"[\w./-]+")


def shipped() -> dict[str, Path]:
    """The configs by name: installed within the package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    within = package / "configs"
    folder = within if within.is_dir() else package.parent / "configs"
    return {path.stem: path for path in sorted(folder.glob(f"*{SUFFIX}"))}


def description(path: Path) -> str:
    """The comment that a config begins with, its first line only.

    Args:
        path: The config.
    """
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()


def with_files(words: Sequence[str]) -> list[str]:
    """The words of a command, with the files of shipped configs in the place of their names.

    `-c solar_ohsgpr`, `-c solar_ohsgpr.yaml` and `-c configs/solar_ohsgpr.yaml` name one, if there is no such file.

    Args:
        words: The words of a command.

    Raises:
        FileNotFoundError: There is neither a file nor a shipped config of a name.
    """
    found: list[str] = []
    for word in words:
        option, equals, value = word.partition("=")
        if found and found[-1] in OPTIONS:
            found.append(_file(word))
        elif equals and option in OPTIONS:
            found += [option, _file(value)]
        else:
            found.append(word)
    return found


def copy(names: Iterable[str], folder: Path) -> list[Path]:
    """Copy shipped configs, all of them or none; a file that differs is never replaced.

    Args:
        names: Names of configs.
        folder: Where to; made if need be.

    Returns:
        The copies.

    Raises:
        ValueError: There is no config of a name.
        FileExistsError: The folder has another file of that name.
    """
    known = shipped()
    targets: dict[Path, Path] = {}
    for name in names:
        source = known.get(name.removesuffix(SUFFIX))
        if source is None:
            raise ValueError(
                f"there is no config {name!r}{nearest(name, known)}; `gpvae configs` lists those there are"
            )
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


def listing(width: int) -> Iterator[str]:
    """Lines that describe every config, data set by data set.

    Args:
        width: How many columns a line may have.
    """
    known = shipped()
    column = max(map(len, known), default=0)
    for data, names in groupby(known, key=lambda name: name.partition("_")[0]):
        yield data
        for name in names:
            text = f"  {name:<{column}}  {description(known[name])}"
            yield textwrap.fill(text, width, subsequent_indent=" " * (column + 4), break_on_hyphens=False)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Args:
        argv: Arguments after `gpvae configs`; those of the process if not given.
    """
    parser = argparse.ArgumentParser(
        prog="gpvae configs",
        description="List the configs that come with the package, or copy them to change them.",
        epilog="`gpvae fit -c NAME` runs one as it is. Files of yours are never replaced.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="configs to copy; not given: list them all")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where to copy NAME; not given: this folder")
    parser.add_argument("--copy", type=Path, metavar="FOLDER", help="copy every config to this folder")
    arguments = parser.parse_args(argv)
    if arguments.names and arguments.copy is not None:
        parser.error("--copy copies every config; to copy NAME only, give --output FOLDER instead")
    if arguments.output is not None and not arguments.names:
        parser.error("--output is where to copy NAME, and no NAME is given; --copy FOLDER copies every config")
    if not arguments.names and arguments.copy is None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
        print(*listing(width), sep="\n")
        return
    try:
        copies = copy(arguments.names or shipped(), arguments.copy or arguments.output or Path())
    except (OSError, ValueError) as error:
        parser.exit(1, f"gpvae configs: {error}\n")
    print(*copies, sep="\n")


def _file(given: str) -> str:
    """The file that the value of `-c` stands for."""
    path = Path(given)
    if not PLAIN_PATH.fullmatch(given) or path.is_file():
        return given
    known = shipped()
    name = path.name.removesuffix(SUFFIX)
    if path.parent in (Path(), Path("configs")) and name in known:
        rank_zero_info(f"No file {given} here: taking the config that comes with gpvae, {known[name]}")
        return str(known[name])
    if path.exists():
        return given
    raise FileNotFoundError(
        f"File does not exist: {given}{nearest(name, known)}; give a config of yours, or the name of one that `gpvae "
        "configs` lists and `gpvae configs --copy FOLDER` copies"
    )
