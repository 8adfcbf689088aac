"""What the README shows runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_python_blocks_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        subprocess.run([sys.executable, "-W", "error", "-c", _PREAMBLE + block], cwd=tmp_path, check=True)


@pytest.mark.slow
def test_the_example_prints_its_table_and_draws_its_picture(tmp_path: Path) -> None:
    picture = tmp_path / "stream.png"
    command = [sys.executable, str(ROOT / "examples/stream.py"), "--figure", str(picture), "--steps", "10"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "OHSGPR" in shown
    assert picture.stat().st_size > 10_000


# gpytorch (by linear_operator) compiles a function with torch.jit.script when it is imported.
_PREAMBLE = (
    "import warnings; warnings.filterwarnings('ignore', '.torch.jit.script. is deprecated', DeprecationWarning)\n"
)
