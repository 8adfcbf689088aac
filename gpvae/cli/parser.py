"""An argument parser whose errors are short, and name the nearest valid word when one is misspelt."""

import re
from collections.abc import Iterator
from typing import NoReturn

from lightning.pytorch.cli import LightningArgumentParser

from datamodules import TaskStream
from gpvae.cli.allowed_classes import how_to_allow
from gpvae.modules import ContinualModule
from gpvae.utils.checks import nearest

#: How jsonargparse speaks of a key that does not exist, a class that does not, and a value that is none of a few.
UNKNOWN_KEY = re.compile(r"(?:unrecognized arguments: --|[oO]ption ')(?P<key>[\w.-]+)")
UNKNOWN_CLASS = re.compile(r"Expected a dot import path string: (?P<name>\w+)")
UNKNOWN_CHOICE = re.compile(
    r"Literal\[(?P<choices>[^\]]*)\].*?(?:Got|Given) value: (?P<value>[\w-]+)$", re.DOTALL | re.MULTILINE
)
NOT_ALLOWED = re.compile(r"(?P<path>[\w.]+)'? is (?:not allowed|refused)")  # its words, or ours from further inside
#: Lines of its errors that say nothing to a person.
CHAFF = re.compile(
    r"Given value|Subtypes:|Errors:|Does not validate against|- Expected a <class 'NoneType'>|- Expected a path"
)


class HelpfulParser(LightningArgumentParser):
    """Adds a suggestion to errors about keys, classes and values that do not exist, and leaves out the usage."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong and leave, or raise where this parser works for another."""
        message = _shortened(message) + ("" if "did you mean" in message else self._suggestion(message))
        if not self.exit_on_error:
            super().error(message, ex)
        command = getattr(ex, "subcommand_parser", self).prog.replace(" [options]", "")
        self.exit(2, f"error: {message}\nAll options: {command} --help\n")

    def _suggestion(self, message: str) -> str:
        if key := UNKNOWN_KEY.search(message):
            keys = list(self._keys())
            return nearest(key["key"], keys) or nearest(key["key"].split(".")[0], [*keys, "class_path", "init_args"])
        if name := UNKNOWN_CLASS.search(message):
            models, streams = list(_subclasses(ContinualModule)), list(_subclasses(TaskStream))
            if name["name"] in (*models, *streams):
                section = "model" if name["name"] in models else "data"
                return f" (did you mean it to be '{section}', where such a class belongs?)"
            return nearest(name["name"], [*models, *streams])
        if "is abstract" in message:
            return " (did you mean 'class_path' and 'init_args', for a class and its arguments?)"
        if choice := UNKNOWN_CHOICE.search(message):
            return nearest(choice["value"], re.findall(r"'([^']*)'", choice["choices"]))
        return ""

    def _keys(self) -> Iterator[str]:
        """All keys of this parser and of its subcommands."""
        for action in self._actions:
            yield action.dest
            for parser in getattr(action, "_name_parser_map", {}).values():
                yield from parser._keys()


def _shortened(message: str) -> str:
    if refused := NOT_ALLOWED.search(message):
        return how_to_allow(refused["path"])
    return "\n".join(line for line in message.splitlines() if line.strip() and not CHAFF.match(line.strip()))


def _subclasses(base: type) -> Iterator[str]:
    subclass: type
    for subclass in base.__subclasses__():
        yield subclass.__name__
        yield from _subclasses(subclass)
