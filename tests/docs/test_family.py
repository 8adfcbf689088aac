"""The family that docs/howto/family.md adds passes every contract, put where the page says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "howto" / "family.md"
#: What the contracts need of the repository.
COPIED = ["gpvae", "datamodules", "tests/contracts", "tests/conftest.py", "tests/oracle.py", "tests/toys.py"]
TARGET = re.compile(r"not run: tests/docs/test_family\.py puts it into (?P<file>\S+)")


def copy_to(folder: Path) -> None:
    """Copy that part of the repository."""
    for name in (*COPIED, "pyproject.toml"):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, target, **({"ignore": shutil.ignore_patterns("__pycache__")} if source.is_dir() else {}))


@pytest.mark.slow
def test_the_family_on_the_page_keeps_all_laws(tmp_path: Path) -> None:
    copy_to(tmp_path)
    (module,) = [block for block in blocks(PAGE) if block.file_name]
    assert len(module.text.splitlines()) < 80
    (tmp_path / "gpvae" / "inducing" / module.file_name).write_text(module.text)
    pieces = {found["file"]: block.text for block in blocks(PAGE) if (found := TARGET.match(block.note))}
    assert set(pieces) == {"gpvae/inducing/__init__.py", "tests/contracts/families.py"}
    with (tmp_path / "gpvae/inducing/__init__.py").open("a") as names:
        names.write(pieces["gpvae/inducing/__init__.py"])
    contracts = tmp_path / "tests/contracts/families.py"
    before, cases, after = contracts.read_text().partition("\nCASES =")
    contracts.write_text(before + pieces["tests/contracts/families.py"] + cases + after)

    command = [sys.executable, "-m", "pytest", "tests/contracts", "-k", "Windows", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    passed = re.search(r"^(?P<number>\d+) passed", done.stdout, flags=re.MULTILINE)
    assert done.returncode == 0, done.stdout[-3000:]
    assert passed is not None
    assert int(passed["number"]) > 100
