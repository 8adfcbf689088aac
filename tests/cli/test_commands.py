"""The program has three names, and passes unknown commands to another `lightning`."""

import sys
from pathlib import Path

import pytest

from tests.cli.program import refused, run, script

ENTRY_POINTS = "[console_scripts]\nlightning = other_lightning:main\n"
OTHER = "import sys\n\n\ndef main():\n    print('the other one:', *sys.argv[1:])\n"


@pytest.fixture
def another(tmp_path: Path) -> str:
    """The folder of another distribution that also has a `lightning`."""
    folder = tmp_path / "elsewhere"
    info = folder / "other_lightning-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-lightning\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "other_lightning.py").write_text(OTHER)
    return str(folder)


def test_the_same_program_under_each_name(tmp_path: Path) -> None:
    programs = [[script("gpvae")], [script("lightning")], [sys.executable, "-m", "gpvae"]]
    results = [run(tmp_path, "--help", program=program) for program in programs]
    assert [result.returncode for result in results] == [0, 0, 0]
    bodies = {result.stdout.split("\n\n", 1)[1] for result in results}  # without the name of the program
    assert len(bodies) == 1
    (body,) = bodies
    for word in ("fit", "validate", "test", "predict", "summary", "report", "configs", "--version", "--allow"):
        assert word in body


def test_commands_of_another_lightning(tmp_path: Path, another: str) -> None:
    handed_on = run(tmp_path, "login", "--now", program=[script("lightning")], PYTHONPATH=another)
    assert (handed_on.returncode, handed_on.stdout) == (0, "the other one: login --now\n")
    kept = run(tmp_path, "login", "--now", PYTHONPATH=another)
    assert kept.returncode != 0
    assert "there is no command 'login'" in kept.stderr


def test_unknown_command(tmp_path: Path) -> None:
    message = refused(tmp_path, "fti", "--model.num_inducing", "3")
    assert "there is no command 'fti' (did you mean 'fit'?)" in message
    assert "validate, test, predict, summary" in message


def test_no_command(tmp_path: Path) -> None:
    assert "{fit,validate,test,predict,summary,report,configs}" in refused(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["configs"], ["configs", "solar_coss"]], ids=" ".join)
def test_what_needs_no_model_imports_no_torch(arguments: list[str], tmp_path: Path) -> None:
    assert not imported_by(tmp_path, *arguments) & {"torch", "lightning", "numpy", "gpytorch", "xarray"}


def imported_by(folder: Path, *arguments: str, code: int = 0) -> set[str]:
    """The packages that a command imports."""
    done = run(folder, *arguments, program=[sys.executable, "-X", "importtime", "-m", "gpvae"])
    assert done.returncode == code, done.stderr
    imported = {line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert "gpvae" in imported
    return imported


def test_scores_are_summarised_without_torch(tmp_path: Path) -> None:
    rows = ["after_task,task,metric,variable,value", "1,1,nlpd,,0.5", "2,1,nlpd,,0.75", "2,2,nlpd,,0.25"]
    (tmp_path / "task_metrics.csv").write_text("\n".join(rows))
    heavy = {"torch", "lightning", "torchmetrics", "gpytorch", "xarray", "pandas"}
    assert not imported_by(tmp_path, "summary", "task_metrics.csv", "--tasks", "--csv", "all.csv") & heavy
    assert not imported_by(tmp_path, "summary", "nothing.csv", code=1) & heavy
    assert not imported_by(tmp_path, "report", "nothing", code=1) & heavy
