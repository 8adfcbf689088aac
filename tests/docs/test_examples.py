"""The examples run, and their pages are up to date."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import RENDERED, ROOT, blocks

#: Examples that need a library beyond those of gpvae, in their quick form.
INTERFACES = {
    "pipeline": ("sklearn", "online Gaussian process", []),
    "river_loop": ("river", "Gaussian process", ["--points", "120"]),
    "bayesian_optimisation": ("botorch", "OnlineGP, 60 points", ["--steps", "3"]),
}
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
#: Size of the largest figure on a page.
MAX_BYTES = 150_000


def renderer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("render", ROOT / "docs" / "_tools" / "render.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, folder: Path, *options: str) -> str:
    """The output of an example, which must also draw its figure."""
    picture = folder / "picture.png"
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--figure", str(picture), *options]
    environment = {**os.environ, "GPVAE_DATA_DIR": str(folder), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    assert picture.stat().st_size > 10_000
    return done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_page_is_rendered_from_the_example(name: str) -> None:
    """`python docs/_tools/render.py` updates it."""
    page = RENDERED / f"{name}.md"
    printed = next(block.text for block in blocks(page) if block.language == "text")
    assert page.read_text(encoding="utf-8") == renderer().page(name, printed)
    picture = RENDERED / renderer().PICTURES.get(name, f"{name}.png")
    assert picture.stat().st_size < MAX_BYTES


@pytest.mark.slow
def test_ten_tasks(tmp_path: Path) -> None:
    assert "OHSGPR" in run("stream", tmp_path, "--steps", "10")


@pytest.mark.slow
def test_counts_lie_in_their_intervals(tmp_path: Path) -> None:
    rows = [line.split() for line in run("counts", tmp_path).splitlines()]
    coverage = {row[0]: [float(cell.strip("%")) for cell in row[-3:]] for row in rows if row[-1].endswith("%")}
    assert 90 < coverage["negative"][0] < 96
    assert min(coverage["negative"]) > 87
    assert coverage["Poisson"][0] < 75


@pytest.mark.slow
def test_weather(tmp_path: Path) -> None:
    shown = run("weather", tmp_path, "--tasks", "2", "--epochs", "8")
    assert "NLPD with replay" in shown
    assert "NLPD with no protection" in shown


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERFACES)
def test_interfaces(name: str, tmp_path: Path) -> None:
    library, printed, options = INTERFACES[name]
    pytest.importorskip(library, reason=f"needs the extra gpvae[{library}]")
    assert printed in run(name, tmp_path, *options)
