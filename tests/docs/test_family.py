"""The family that docs/howto/family.md adds satisfies every law, in a copy of the repository."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import shell
from tests.docs.pages import ROOT, Block, blocks

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "howto" / "family.md"
#: Parts of the repository that the laws, the reference and a run need.
COPIED = [
    *("gpvae", "datamodules", "callbacks", "configs", "docs/api", "pyproject.toml"),
    *("tests/contracts", "tests/conftest.py", "tests/oracle.py", "tests/toys.py"),
    *("tests/docs/pages.py", "tests/docs/test_api.py"),
]
TARGET = re.compile(r"not run: tests/docs/test_family\.py puts it into (?P<file>\S+)")
#: Python blocks are inserted above this line.
ABOVE = "CASES ="


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the changes of the page."""
    folder = tmp_path_factory.mktemp("repository")
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    (module,) = [block for block in blocks(PAGE) if block.file_name]
    assert len(module.text.splitlines()) < 80
    (folder / "gpvae" / "inducing" / module.file_name).write_text(module.text)
    pieces = [(folder / found["file"], block) for block in blocks(PAGE) if (found := TARGET.match(block.note))]
    for file, piece in pieces:
        file.write_text(apply(piece, file.read_text()))
    assert {file.name for file, _ in pieces} == {"__init__.py", "families.py", "inducing.md"}
    return folder


def apply(piece: Block, text: str) -> str:
    """Apply a block of the page to the text of a file."""
    if piece.language == "python":
        return text.replace(f"\n{ABOVE}", f"\n{piece.text}{ABOVE}")
    for hunk in re.split(r"^@@.*\n", piece.text, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines(keepends=True)
        assert {line[0] for line in lines} == {" ", "+"}, f"{piece}: a diff may only add lines"
        context = "".join(line[1:] for line in lines if line.startswith(" "))
        assert text.count(context) == 1, f"{piece}: these lines must occur once in the file:\n{context}"
        text = text.replace(context, "".join(line[1:] for line in lines))
    return text


def run(folder: Path, *words: str) -> str:
    """The output of a Python module run in the copy, which must succeed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(words)}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def test_the_style_is_that_of_the_package(repository: Path) -> None:
    run(repository, "ruff", "check", "--no-cache")
    run(repository, "ruff", "format", "--check", "--no-cache")


def test_it_is_a_method_of_the_command_line(repository: Path) -> None:
    (block,) = [block for block in blocks(PAGE) if block.note.startswith("not run: tests/docs/test_family.py runs it")]
    (words,) = shell.commands(block)
    run(repository, *words, "--data.stop_after=2", "--figures.enabled=false")
    assert "Windows" in next((repository / "runs").rglob("config.yaml")).read_text()


def test_it_satisfies_all_laws_and_is_in_the_reference(repository: Path) -> None:
    tests = ["tests/contracts", "tests/docs/test_api.py"]
    output = run(repository, "pytest", *tests, "-k", "Windows or public_name", "-q", "-p", "no:cacheprovider")
    passed = re.search(r"^(?P<number>\d+) passed", output, flags=re.MULTILINE)
    assert passed is not None
    assert int(passed["number"]) > 100
