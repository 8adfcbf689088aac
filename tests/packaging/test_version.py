"""The version comes from the tags of git, also in an archive of the files, which has no history."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.packaging.sources import ROOT

scm = pytest.importorskip("setuptools_scm", reason="needs the extra gpvae[dev]")


@pytest.mark.parametrize(("commits", "start"), [(0, "9.8.7"), (1, "9.8.8.dev1+g")])
def test_an_archive_knows_its_version(commits: int, start: str, tmp_path: Path) -> None:
    """Hosts offer such archives of every tag; pip installs from them."""
    checkout, archive = tmp_path / "checkout", tmp_path / "archive"
    checkout.mkdir()

    def git(*args: str) -> None:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *args], cwd=checkout, check=True, capture_output=True)

    git("init")
    for name in (".gitattributes", ".git_archival.txt"):
        (checkout / name).write_bytes((ROOT / name).read_bytes())
        git("add", name)
    git("commit", "--message", "Release")
    git("tag", "--annotate", "v9.8.7", "--message", "A release")
    for _ in range(commits):
        git("commit", "--allow-empty", "--message", "Go on")
    git("archive", "--output", str(tmp_path / "archive.tar"), "HEAD")
    with tarfile.open(tmp_path / "archive.tar") as file:
        file.extractall(archive, filter="data")
    assert scm.get_version(root=archive).startswith(start)
