"""The configs that come with the package, which `gpvae fit -c NAME` finds by name."""

import re
from collections.abc import Sequence
from pathlib import Path

from gpvae.utils.spelling import nearest

SUFFIX = ".yaml"
OPTIONS = ("-c", "--config")
#: Any other value of these options is a config in YAML, or a path that is left to the parser.
PLAIN_PATH = re.compile(r"[\w./-]+")


def shipped_configs() -> dict[str, Path]:
    """Return the configs by name, from the installed package or, in a checkout, from the folder beside it."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "configs"
    folder = installed if installed.is_dir() else package.parent / "configs"
    return {path.stem: path for path in sorted(folder.glob(f"*{SUFFIX}"))}


def read_description(path: Path) -> str:
    """Return the first line of a config, a comment that describes it."""
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()


def resolve_config_names(args: Sequence[str]) -> list[str]:
    """Replace the names of shipped configs in a command by their files.

    `-c solar_ohsgpr`, `-c solar_ohsgpr.yaml` and `-c configs/solar_ohsgpr.yaml` name one, unless there is such a file.

    Args:
        args: Arguments of the command.

    Raises:
        FileNotFoundError: There is neither a file nor a shipped config of a name.
    """
    resolved: list[str] = []
    for arg in args:
        option, equals, value = arg.partition("=")
        if resolved and resolved[-1] in OPTIONS:
            resolved.append(_resolve(arg))
        elif equals and option in OPTIONS:
            resolved += [option, _resolve(value)]
        else:
            resolved.append(arg)
    return resolved


def _resolve(value: str) -> str:
    path = Path(value)
    if not PLAIN_PATH.fullmatch(value) or path.is_file():
        return value
    configs = shipped_configs()
    name = path.name.removesuffix(SUFFIX)
    if path.parent in (Path(), Path("configs")) and name in configs:
        from lightning.pytorch.utilities import rank_zero_info  # which `gpvae configs` does not need

        rank_zero_info(f"There is no file {value} here: using the config that comes with gpvae, {configs[name]}")
        return str(configs[name])
    if path.exists():
        return value
    raise FileNotFoundError(
        f"File does not exist: {value}{nearest(name, configs)}; give the path of a config, or a name that `gpvae "
        "configs` lists; `gpvae configs --copy FOLDER` copies all of them"
    )
