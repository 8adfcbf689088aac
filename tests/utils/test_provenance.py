"""The page and the runs say what made them, by the commit where there is one."""

import os
import subprocess
from pathlib import Path

import pytest

from gpvae.report.page import write_report
from gpvae.results.run_config import read_config
from gpvae.utils import provenance
from tests.cli.program import run_here, write_config
from tests.report.made import config, write_run
from tests.report.reading import Page

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b.c")


@pytest.fixture(autouse=True)
def no_memory() -> None:
    """Ask anew in each test."""
    provenance.program.cache_clear()


def git(folder: Path, *words: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(folder), *IDENTITY, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that takes the place of ours."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    try:
        git(folder, "init", "-q")
    except OSError:
        pytest.skip("there is no git")
    (folder / "file").write_text("1")
    git(folder, "add", "file")
    git(folder, "commit", "-q", "-m", "First")
    monkeypatch.setattr(provenance, "ROOT", folder)
    return folder


def test_a_checkout_is_called_by_its_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as in a hook
    assert provenance.program() == f"gpvae at {commit[:12]}"


def test_its_tag_and_its_changes(checkout: Path) -> None:
    git(checkout, "tag", "v0.1.0")
    (checkout / "file").write_text("2")
    assert provenance.program() == "gpvae at v0.1.0, with changes"


def test_without_git_or_checkout_the_installation_tells(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    without_git = provenance.program()
    provenance.program.cache_clear()
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.program() == without_git
    assert without_git.startswith("gpvae")
    assert " at " not in without_git


@pytest.mark.filterwarnings("ignore")
def test_a_run_says_what_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpvae.utils.provenance.program", lambda: "gpvae at here")
    run_here(tmp_path, "fit", "-c", str(write_config(tmp_path)))
    (file,) = tmp_path.glob("runs/*/*/config.yaml")
    assert file.read_text().splitlines()[1] == "# gpvae at here"
    assert read_config(file).made_by == "gpvae at here"


def test_the_page_tells_itself_from_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpvae.utils.provenance.program", lambda: "gpvae at here")
    for method, programs in {"OVC": ["one", "one"], "OVFF": ["one", "two", ""], "OHSGPR": [""]}.items():
        for seed, program in enumerate(programs):
            file = write_run(tmp_path / method / f"seed_{seed}", seed, config(method)) / "config.yaml"
            file.write_text((f"# lightning==2\n# gpvae at {program}\n" if program else "") + file.read_text())
    write_report([tmp_path], tmp_path / "page.html")
    text = Page((tmp_path / "page.html").read_text()).text
    assert "This page was made" in text
    assert "by gpvae at here." in text
    assert "OVC: config.yaml of OVC/seed_0; made by gpvae at one" in text
    assert "OVFF/seed_0; runs made: 1 by gpvae at one, 1 by gpvae at two, 1 not recorded" in text
    assert "OHSGPR: config.yaml of OHSGPR/seed_0" in text
    assert "OHSGPR/seed_0;" not in text
