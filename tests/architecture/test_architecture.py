"""The architecture holds: layers, sizes, names and its picture."""

import ast
import importlib.util
import re
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.packaging.sources import PACKAGES, ROOT

#: What a stranger can take in at a glance.
MAX_ROOT_MODULES, MAX_LINES, MAX_MEDIAN_LINES = 16, 300, 120
#: Interfaces for two libraries, which the module tells apart.
SAME_FOR_EACH_LIBRARY = {"OnlineGPRegressor", "OnlineGPClassifier"}
ONLY_ABOVE = "only the command line and saved runs import callbacks and data"
#: A module, an import that breaks a rule, and the rule.
VIOLATIONS = [
    ("gpvae/utils/checks.py", "import gpvae.online_gp", "gpvae is built in layers"),
    ("gpvae/inducing/base.py", "from gpvae.vae import GPVAE", "gpvae is built in layers"),
    ("gpvae/report/page.py", "import callbacks", ONLY_ABOVE),
    (
        "gpvae/modules/base.py",
        "from datamodules import TaskStream",
        ONLY_ABOVE,
    ),
    ("datamodules/stream.py", "from gpvae.modules import ContinualModule", "nothing of gpvae but its utilities"),
    ("datamodules/loader.py", "import callbacks.continual", "the data know no callbacks"),
    ("gpvae/astray.py", "import math", "gpvae is built in layers"),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={"COLUMNS": "200"})


def test_the_layers_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("file", "line", "rule"), VIOLATIONS, ids=[file for file, _, _ in VIOLATIONS])
def test_a_planted_violation_is_found(tmp_path: Path, file: str, line: str, rule: str) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / file).open("a") as module:
        module.write(f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    broken = [said for said in done.stdout.splitlines() if "BROKEN" in said]
    assert any(rule in said for said in broken), done.stdout


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]


def test_files_are_small_and_few_at_the_root() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert len(list((ROOT / "gpvae").glob("*.py"))) <= MAX_ROOT_MODULES
    assert {path.name: count for path, count in lines.items() if count > MAX_LINES} == {}
    assert statistics.median(lines.values()) < MAX_MEDIAN_LINES


def test_no_two_classes_share_a_name() -> None:
    places = defaultdict(list)
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert twice.keys() == SAME_FOR_EACH_LIBRARY, twice


def test_the_picture_is_current() -> None:
    """`python docs/_tools/architecture.py` brings it up to date."""
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "docs" / "_tools" / "architecture.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules["architecture"] = tool  # for its dataclass
    spec.loader.exec_module(tool)
    assert tool.PICTURE.read_text(encoding="utf-8") == tool.picture()


def test_files_named_on_the_page_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", page))
    known = [path.relative_to(ROOT).as_posix() for path in (*sources(), *(ROOT / "docs" / "_tools").glob("*.py"))]
    known += [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")]
    assert {name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in known)} == set()
    assert len(named) > 30
