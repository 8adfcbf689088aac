"""An argument parser with short errors that suggest the nearest valid name for a misspelt one."""

import re
from collections.abc import Iterator
from typing import NoReturn

from lightning.pytorch.cli import LightningArgumentParser

from datamodules import TaskStream
from gpvae.modules import ContinualModule
from gpvae.utils.spelling import nearest

#: Errors of jsonargparse about an unknown key, an unknown class, and a value that is not one of the choices.
UNKNOWN_KEY = re.compile(r"(?:unrecognized arguments: --|[oO]ption ')(?P<key>[\w.-]+)")
UNKNOWN_CLASS = re.compile(r"Expected a dot import path string: (?P<name>\w+)")
UNKNOWN_CHOICE = re.compile(
    r"Literal\[(?P<choices>[^\]]*)\].*?(?:Got|Given) value: (?P<value>[\w-]+)$", re.DOTALL | re.MULTILINE
)
#: The refusal of an import path, by `refusal_message`.
REFUSED = re.compile(r"'?(?P<path>[\w.]+)'? is refused: (?P<reason>.*?\.)(?:\. Got value.*)?$", re.MULTILINE)
#: Lines of its errors that do not help the user.
IGNORED_LINES = re.compile(
    r"Given value|Subtypes:|Errors:|Does not validate against|- Expected a <class 'NoneType'>|- Expected a path"
)


class HelpfulParser(LightningArgumentParser):
    """Adds a suggestion to errors about unknown keys, classes and values, omits the usage, ignores the environment."""

    @property
    def default_env(self) -> bool:
        """False: variables such as JSONARGPARSE_DEFAULT_ENV and PL_FIT__DATA set no option."""
        return False

    @default_env.setter
    def default_env(self, default_env: bool) -> None:
        self._default_env = False

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print an error and exit, or raise it if another parser called this one."""
        message = _shorten(message) + ("" if "did you mean" in message else self._suggestion(message))
        if not self.exit_on_error:
            super().error(message, ex)
        command = getattr(ex, "subcommand_parser", self).prog.replace(" [options]", "")
        self.exit(2, f"error: {message}\nAll options: {command} --help\n")

    def _suggestion(self, message: str) -> str:
        if key := UNKNOWN_KEY.search(message):
            keys = list(self._keys())
            return nearest(key["key"], keys) or nearest(key["key"].split(".")[0], [*keys, "class_path", "init_args"])
        if name := UNKNOWN_CLASS.search(message):
            models, streams = ([kind.__name__ for kind in subclasses(base)] for base in (ContinualModule, TaskStream))
            if name["name"] in (*models, *streams):
                section = "model" if name["name"] in models else "data"
                return f" (did you mean it to be '{section}', where such a class belongs?)"
            return nearest(name["name"], [*models, *streams])
        if "is abstract" in message:
            return (
                " (did you mean 'class_path' and 'init_args', for a class and its arguments? On the command line, the "
                "class, by -c, --data or --model, comes before its options)"
            )
        if choice := UNKNOWN_CHOICE.search(message):
            return nearest(choice["value"], re.findall(r"'([^']*)'", choice["choices"]))
        return ""

    def _keys(self) -> Iterator[str]:
        """Yield all keys of this parser and of its sub-commands."""
        for action in self._actions:
            yield action.dest
            for parser in getattr(action, "_name_parser_map", {}).values():
                yield from parser._keys()


def _shorten(message: str) -> str:
    if refused := REFUSED.search(message):
        return f"{refused['path']} is refused: {refused['reason']}".replace(f"'{refused['path']}'", refused["path"])
    return "\n".join(line for line in message.splitlines() if line.strip() and not IGNORED_LINES.match(line.strip()))


def subclasses(base: type) -> Iterator[type]:
    """Yield all subclasses of a class."""
    subclass: type
    for subclass in base.__subclasses__():
        yield subclass
        yield from subclasses(subclass)
