"""What the README and the docs show runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", list(filter(python_blocks, PAGES)), ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", _PREAMBLE + "\n".join(python_blocks(page))]
    subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text()
    for name in re.findall(r"configs/\w+\.yaml", text):
        assert (ROOT / name).is_file()
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in link or (page.parent / link).is_file()


@pytest.mark.slow
def test_the_example_prints_its_table_and_draws_its_picture(tmp_path: Path) -> None:
    picture = tmp_path / "stream.png"
    command = [sys.executable, str(ROOT / "examples/stream.py"), "--figure", str(picture), "--steps", "10"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "OHSGPR" in shown
    assert picture.stat().st_size > 10_000


# gpytorch (by linear_operator) compiles a function with torch.jit.script when it is imported, and Lightning 2.6 asks
# torch 2.13 about a class that is on its way out.
_PREAMBLE = """import warnings
warnings.filterwarnings("ignore", ".torch.jit.script. is deprecated", DeprecationWarning)
warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
"""
