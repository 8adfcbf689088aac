"""Fetching: the right content or a clear error, never a silent change to somebody's files."""

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from datamodules import public_files

CONTENT = b"x,y\n1,2\n"


@pytest.fixture
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry with the one file `small.csv`."""
    file = public_files.PublicFile("somebody/something/abc/small.csv", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(public_files, "FILES", {"small.csv": file})
    return folder


@pytest.fixture
def server(serve: Callable[[dict[str, bytes]], None]) -> None:
    """The home of `small.csv`, on this machine."""
    serve({"small.csv": CONTENT})


def put(folder: Path, content: bytes) -> Path:
    folder.mkdir()
    (folder / "small.csv").write_bytes(content)
    return folder / "small.csv"


def test_address_is_repository_commit_path() -> None:
    assert public_files.FILES["solar.mat"].url == (
        "https://raw.githubusercontent.com/jamesrobertlloyd/gp-structure-search/"
        "ca6771cb08ee993f474b8e206a0410aa0b62e58a/data/1d_data/02-solar.mat"
    )


@pytest.mark.parametrize("name", public_files.FILES)
def test_real_files_have_the_registered_content(name: str, real_data: Callable[[str], Path]) -> None:
    assert real_data(name).name == name


def test_data_dir_without_the_variable_is_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPVAE_DATA_DIR", raising=False)
    cache = public_files.data_dir()
    assert cache.is_absolute()
    assert "gpvae" in cache.parts
    monkeypatch.setenv("GPVAE_DATA_DIR", "")
    assert public_files.data_dir() == cache


@pytest.mark.usefixtures("server")
def test_download_is_kept_and_used_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert public_files.fetch("small.csv").read_bytes() == CONTENT
    assert os.listdir(folder) == ["small.csv"]
    monkeypatch.setattr(public_files, "BASE_URL", "http://127.0.0.1:1")
    assert public_files.fetch("small.csv") == folder / "small.csv"


@pytest.mark.usefixtures("server")
def test_download_with_wrong_content_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = public_files.PublicFile("somebody/something/abc/small.csv", "0" * 64)
    monkeypatch.setattr(public_files, "FILES", {"small.csv": file})
    with pytest.raises(ValueError, match=r"(?s)did not have the expected content.*download it by hand"):
        public_files.fetch("small.csv")
    assert os.listdir(folder) == []


@pytest.mark.usefixtures("server")
def test_file_gone_from_its_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        public_files, "FILES", {"gone.txt": public_files.PublicFile("somebody/something/abc/gone.txt", "0" * 64)}
    )
    with pytest.raises(ConnectionError, match="404"):
        public_files.fetch("gone.txt")


def test_no_network_says_what_from_where_and_where_to_put_it(folder: Path) -> None:
    with pytest.raises(ConnectionError) as caught:
        public_files.fetch("small.csv")
    message = str(caught.value)
    assert "small.csv is not in" in message
    assert "http://127.0.0.1:1/somebody/something/abc/small.csv" in message
    assert str(folder / "small.csv") in message


def test_wrong_content_is_an_error_and_left_alone(folder: Path) -> None:
    target = put(folder, b"something else")
    with pytest.raises(ValueError, match="is not the file it should be") as caught:
        public_files.fetch("small.csv")
    for part in (target, hashlib.sha256(CONTENT).hexdigest(), hashlib.sha256(b"something else").hexdigest()):
        assert str(part) in str(caught.value)
    assert target.read_bytes() == b"something else"


def test_read_only_folder_with_the_file_is_enough(folder: Path) -> None:
    target = put(folder, CONTENT)
    target.chmod(0o444)
    folder.chmod(0o555)
    before = folder.stat().st_mtime_ns
    assert public_files.fetch("small.csv") == target
    assert folder.stat().st_mtime_ns == before  # holds for root too, whom permissions do not stop


def test_folder_that_cannot_be_written(folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    with pytest.raises(OSError, match=r"(?s)nothing can be written there.*GPVAE_DATA_DIR"):
        public_files.fetch("small.csv")


def test_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'solar\.mta' \(did you mean 'solar\.mat'\?\).*powerplant\.txt"):
        public_files.fetch("solar.mta")
    with pytest.raises(ValueError, match=r"'qqq'\. Known files"):
        public_files.fetch("qqq")


@pytest.mark.usefixtures("server")
def test_processes_that_start_together_download_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads stand for processes: a lock on a file keeps both out alike."""
    started, go_on, downloads = threading.Event(), threading.Event(), []
    retrieve = public_files.pooch.retrieve

    def slowly(*arguments: object, **options: object) -> object:
        downloads.append(arguments)
        started.set()
        assert go_on.wait(60)
        return retrieve(*arguments, **options)

    monkeypatch.setattr(public_files.pooch, "retrieve", slowly)
    found: list[Path] = []
    one, other = (threading.Thread(target=lambda: found.append(public_files.fetch("small.csv"))) for _ in range(2))
    one.start()
    assert started.wait(60)
    other.start()
    other.join(0.3)
    assert other.is_alive()
    go_on.set()
    for thread in (one, other):
        thread.join(60)
    assert found == [folder / "small.csv"] * 2
    assert len(downloads) == 1
    assert os.listdir(folder) == ["small.csv"]
