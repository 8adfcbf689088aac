"""Shell commands on pages: split into words, and parsed by their programs without being run."""

import argparse
import importlib.util
import io
import logging
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

import pytest

from benchmarks.registry import find
from gpvae.cli import main
from tests.docs.pages import ROOT, Block

SEPARATORS = (";", "&&", "||", "|")
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")


class Parsed(BaseException):
    """Raised with the arguments once a command has been parsed."""


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each command of a block; of loops, the first iteration."""
    for line in block.text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = "#"
        values: dict[str, str] = {}
        for words in _split(list(lexer)):
            if words[0] == "for":
                values[f"${words[1]}"] = words[3]
                continue
            words = words[1:] if words[0] == "do" else words
            while words and ASSIGNMENT.fullmatch(words[0]):
                words = words[1:]
            if words != ["done"]:
                yield [values.get(word, word) for word in words]


def _split(tokens: list[str]) -> Iterator[list[str]]:
    words: list[str] = []
    for token in [*tokens, ";"]:
        if token not in SEPARATORS:
            words.append(token)
        elif words:
            yield words
            words = []


def check(words: list[str], folder: Path) -> None:
    """Parse a command by its program; fail if there is no parser for it here.

    Args:
        words: The command.
        folder: The folder it would run in.
    """
    program, *rest = words
    if program in ("python", ".venv/bin/python") and rest[:1] == ["-m"]:
        program, *rest = rest[1:]
    program = program.removeprefix(".venv/bin/")
    checks: dict[str, Callable[[list[str], Path], None]] = {
        "gpvae": check_gpvae,
        "lightning": check_gpvae,
        "make": _check_make,
        "pytest": _check_pytest,
        "tensorboard": _check_tensorboard,
        ".": lambda rest, _: _expect(rest == [".venv/bin/activate"], rest),
    }
    if program.split(".")[0] == "benchmarks":
        _check_benchmark(program, rest)
    elif program in checks:
        checks[program](rest, folder)
    else:
        pytest.fail(f"no parser for {shlex.join(words)!r}: write <!-- not run: why --> above its block")


def run(words: list[str], folder: Path) -> None:
    """Run a command; `gpvae fit` without figures, which take most of its time."""
    if words[0] != "gpvae":
        subprocess.run(
            shlex.join(words).replace("'", ""), cwd=folder, shell=True, check=True, stdout=subprocess.DEVNULL
        )
        return
    quick = ["--figures.enabled=false"] if words[1] == "fit" else []
    with pytest.MonkeyPatch.context() as patch:
        try:
            _gpvae([*words[1:], *quick], folder, patch)
        except SystemExit as end:  # as after --version
            if end.code not in (0, None):
                raise


def check_gpvae(words: list[str], folder: Path) -> None:
    """Parse a command of `gpvae` without running it."""
    if words == ["--version"]:
        return
    has_argparse = words[0] in ("summary", "report", "configs")
    if not has_argparse and not any(word == "--help" or word.endswith(".help") for word in words):
        words = [*words, "--print_config"]
    with pytest.MonkeyPatch.context() as patch:
        if has_argparse:
            _stop_after_parsing(patch)
        _run_parser(lambda: _gpvae(words, folder, patch), ["gpvae", *words])


def _check_benchmark(module: str, words: list[str]) -> None:
    """Parse a command of a benchmark; for `python -m benchmarks`, also look up the names of benchmarks."""
    spec = importlib.util.find_spec(module)
    _expect(spec is not None, [module, *words])
    main = importlib.import_module(f"{module}.__main__" if spec.submodule_search_locations else module).main
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [module, *words])
        _stop_after_parsing(patch)
        parsed = _run_parser(main, [module, *words])
    if module == "benchmarks" and parsed is not None:
        find(parsed.names)


def _stop_after_parsing(patch: pytest.MonkeyPatch) -> None:
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(self: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> NoReturn:
        raise Parsed(parse(self, *args, **kwargs))

    patch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)


def _run_parser(program: Callable[[], object], words: list[str]) -> argparse.Namespace | None:
    """The parsed arguments, or None if the program exited by itself; fail if it exited with an error."""
    with redirect_stdout(io.StringIO()), pytest.raises((SystemExit, Parsed)) as end:
        program()
    if isinstance(end.value, Parsed):
        return end.value.args[0]
    assert end.value.code in (0, None), f"{shlex.join(words)}: {end.value.code}"
    return None


def _gpvae(words: list[str], folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "argv", ["gpvae", *words])
    patch.setattr(warnings, "formatwarning", warnings.formatwarning)  # restored after the program has changed it
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    patch.setattr(logger, "filters", list(logger.filters))
    for variable in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS"):
        patch.setenv(variable, "")
        patch.delenv(variable)
    with chdir(folder), redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()


def _check_make(words: list[str], folder: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    wanted = [word for word in words if not ASSIGNMENT.fullmatch(word)]
    _expect(bool(wanted) and set(wanted) <= set(targets), ["make", *words])


def _check_pytest(words: list[str], folder: Path) -> None:
    paths = [word for word in words if word.startswith("tests")]
    _expect(bool(paths) and all((ROOT / path).exists() for path in paths), ["pytest", *words])


def _check_tensorboard(words: list[str], folder: Path) -> None:
    _expect(len(words) == 2 and words[0] == "--logdir", ["tensorboard", *words])
    _expect(importlib.util.find_spec("tensorboard") is not None, words)


def _expect(condition: bool, words: list[str]) -> None:
    assert condition, f"{shlex.join(words)!r} would not work"
