"""The wheel holds the packages and the configs, nothing else, and works without a checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.packaging import sources

FIT = ["fit", "-c", "configs/toy_legs.yaml", "--data.stop_after", "2", "--figures.enabled", "false"]
#: Runs `python -m gpvae` several times, in one process because imports take seconds, and prints which copy it is.
PROGRAM = f"""
import runpy, sys, gpvae
print(gpvae.__file__)
for sys.argv[1:] in (["configs"], {FIT!r}, ["report", "runs"]):
    runpy.run_module("gpvae", run_name="__main__")
"""
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
    within = {path.as_posix() for path in paths if path.parts[0] in sources.PACKAGES}
    return within | {f"gpvae/{path.as_posix()}" for path in paths if path.parts[0] == "configs"}


@pytest.mark.slow
@pytest.mark.ci
def test_built_installed_and_run(tmp_path: Path) -> None:
    checkout, installed, empty = (tmp_path / name for name in ("checkout", "installed", "empty"))
    empty.mkdir()
    paths = sources.copy_to(checkout)
    run(checkout, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == "gpvae-0.1.0.dev0-py3-none-any.whl"  # the version without git

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        scripts = archive.read("gpvae-0.1.0.dev0.dist-info/entry_points.txt").decode()
    info = {name for name in names if ".dist-info/" in name}
    assert names - info == expected(paths)
    assert {name.partition(".dist-info/")[2] for name in info} >= INFO
    assert {"gpvae/py.typed", "datamodules/py.typed", "gpvae/configs/toy_legs.yaml"} <= names
    assert "gpvae = gpvae.cli:main" in scripts
    assert "lightning = gpvae.cli:main" in scripts

    run(
        empty, "-m", "pip", "install", "--no-deps", "--no-compile", "--no-index", "--target", str(installed), str(wheel)
    )
    done = run(empty, "-c", PROGRAM, PYTHONPATH=str(installed))
    assert done.stdout.splitlines()[0] == str(installed / "gpvae" / "__init__.py")
    assert "  toy_legs " in done.stdout
    assert str(installed / "gpvae" / "configs" / "toy_legs.yaml") in done.stderr
    assert (empty / "runs" / "toy_legs" / "seed_1" / "task_metrics.csv").is_file()
    assert "toy_legs" in (empty / "report.html").read_text()
