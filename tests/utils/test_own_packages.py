"""`callbacks` and `datamodules`: two names for one module, and room for the modules of users."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with the checkout behind it on the path."""
    return subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HOME": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_both_names_are_one_module() -> None:
    import gpvae.datamodules.era5.variables
    from datamodules.era5 import variables
    from datamodules.stream import TaskStream

    assert gpvae.datamodules.era5.variables is variables
    assert gpvae.datamodules.TaskStream is TaskStream
    assert variables.__name__ == variables.__spec__.name == "datamodules.era5.variables"
    with pytest.raises(ModuleNotFoundError):
        import gpvae.datamodules.nothing


def test_modules_of_the_user_do_not_disturb_the_program(tmp_path: Path) -> None:
    for name in ("callbacks", "datamodules"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError('imported')")
    done = run(tmp_path, "-m", "gpvae", "fit", "--help")
    assert done.returncode == 0, done.stderr
    assert "imported" not in done.stderr


def test_the_code_of_the_user_gets_its_own_modules(tmp_path: Path) -> None:
    (tmp_path / "callbacks.py").write_text("MINE = 1")
    done = run(tmp_path, "-c", "import gpvae, callbacks; print(callbacks.MINE); gpvae.load('runs')")
    assert done.stdout.strip() == "1"
    assert "callbacks.py hides the package callbacks of gpvae: rename it" in done.stderr


def test_the_long_names_are_ours_whatever_modules_the_user_has(tmp_path: Path) -> None:
    for name in ("callbacks", "datamodules"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError('imported')")
    done = run(tmp_path, "-c", "import gpvae.callbacks; from gpvae.datamodules import Solar; print(Solar.__module__)")
    assert done.stdout.strip() == "datamodules.solar_audio", done.stderr
