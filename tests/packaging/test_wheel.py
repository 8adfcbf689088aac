"""The wheel holds the packages and the configs, nothing else, and works without a checkout."""

import os
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.packaging import bare_environment, sources

FIT = ["fit", "-c", "configs/toy_legs.yaml", "--data.stop_after", "2", "--figures.enabled", "false"]
#: Runs `python -m gpvae` several times, in one process because imports take seconds, and prints which copy it is.
PROGRAM = f"""
import runpy, sys, gpvae
print(gpvae.__file__)
for sys.argv[1:] in (["configs"], {FIT!r}, ["report", "runs"]):
    runpy.run_module("gpvae", run_name="__main__")
"""
#: What cannot be done without extras; each line says why.
REFUSALS = """
import importlib, sys
from gpvae.cli import main

def refused(action):
    try:
        action()
    except (ImportError, SystemExit) as error:
        print(error)
    else:
        print("not refused")

refused(gp.plot)
refused(lambda: main(["summary", "runs"]))
refused(lambda: main(["fit", "-c", "toy_legs"]))
refused(lambda: gpvae.load("runs"))
refused(lambda: importlib.import_module("datamodules"))
assert "lightning" not in sys.modules
print("done")
"""
HOST = "https://example.org/gpvae"
INFO = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE"}


def run(folder: Path, *args: str, **variables: str) -> subprocess.CompletedProcess:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PL_", "PIP_"))}
    done = subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        env={**environment, "PYTHONWARNINGS": "ignore", **variables},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def expected(paths: list[Path]) -> set[str]:
    """Return the paths of installed sources."""
    within = {path.as_posix() for path in paths if path.parts[0] == "gpvae"}
    return within | {f"gpvae/{path}" for path in paths if path.parts[0] in ("callbacks", "configs", "datamodules")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """The wheel, and the sources that it was built from."""
    folder = tmp_path_factory.mktemp("built")
    paths = sources.copy_to(folder / "checkout")
    pyproject = folder / "checkout" / "pyproject.toml"
    if "\nRepository = " not in (text := pyproject.read_text()):
        pyproject.write_text(text.replace("[project.urls]\n", f'[project.urls]\nRepository = "{HOST}"\n'))
    run(folder / "checkout", "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder))
    (wheel,) = folder.glob("*.whl")
    return wheel, paths


@pytest.mark.slow
@pytest.mark.ci
def test_the_streaming_gp_needs_no_extra(built: tuple[Path, list[Path]], tmp_path: Path) -> None:
    """The first lines of the README run with four dependencies; everything else names the extra that it needs."""
    bare, empty = tmp_path / "bare", tmp_path / "empty"
    empty.mkdir()
    found = bare_environment.fill(bare, built[0])
    assert {"torch", "gpytorch", "numpy", "scipy"} <= found
    assert not found & {"lightning", "torchmetrics", "xarray", "pandas", "matplotlib", "rich", "tensorboard", "pooch"}
    readme = (sources.ROOT / "README.md").read_text()
    lines = readme.partition("```python\n")[2].partition("```")[0]
    (empty / "lines.py").write_text(lines + REFUSALS)
    done = run(empty, "-S", "lines.py", PYTHONPATH=str(bare))
    assert "500 points learnt" in done.stdout
    *refused, last = done.stdout.splitlines()[-6:]
    assert [line.partition("pip install ")[2].partition(" ")[0] for line in refused] == [
        *["'gpvae[report]'"] * 2,
        *["'gpvae[train]'"] * 3,
    ]
    assert last == "done"


@pytest.mark.slow
@pytest.mark.ci
def test_built_installed_and_run(built: tuple[Path, list[Path]], tmp_path: Path) -> None:
    (wheel, paths), installed, empty = built, tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    settings = tomllib.loads((sources.ROOT / "pyproject.toml").read_text())
    release = f"gpvae-{settings['tool']['setuptools_scm']['fallback_version']}"  # the version without git
    assert wheel.name == f"{release}-py3-none-any.whl"

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        scripts = archive.read(f"{release}.dist-info/entry_points.txt").decode()
        metadata = message_from_bytes(archive.read(f"{release}.dist-info/METADATA"))
    info = {name for name in names if ".dist-info/" in name}
    assert names - info == expected(paths)
    assert {name.partition(".dist-info/")[2] for name in info} >= INFO
    shown = str(metadata.get_payload())  # by PyPI
    assert "# gpvae" in shown
    assert "/raw/HEAD/docs/update_cost.png)" in shown
    assert "](docs/" not in shown
    assert {"gpvae/py.typed", "gpvae/datamodules/py.typed", "gpvae/configs/toy_legs.yaml"} <= names
    assert "gpvae = gpvae.cli:main" in scripts
    assert "lightning = gpvae.cli:main" in scripts

    run(
        empty, "-m", "pip", "install", "--no-deps", "--no-compile", "--no-index", "--target", str(installed), str(wheel)
    )
    for name in ("callbacks", "datamodules"):  # modules of the user
        (empty / f"{name}.py").write_text("raise AssertionError('imported')")
    done = run(empty, "-c", PROGRAM, PYTHONPATH=str(installed))
    assert done.stdout.splitlines()[0] == str(installed / "gpvae" / "__init__.py")
    assert "  toy_legs " in done.stdout
    assert str(installed / "gpvae" / "configs" / "toy_legs.yaml") in done.stderr
    assert (empty / "runs" / "toy_legs" / "seed_1" / "task_metrics.csv").is_file()
    assert "toy_legs" in (empty / "report.html").read_text()
