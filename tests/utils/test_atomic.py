"""Files and folders are written completely or not at all."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from gpvae.utils.atomic import creating_folder, replacing


def write_and_fail(writing: AbstractContextManager[Path], name: str) -> None:
    with writing as temporary:
        (temporary / name).write_text("half")
        raise KeyError


def test_a_file_is_replaced_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "a.txt"
    with replacing(path) as temporary:
        temporary.write_text("old")
    with pytest.raises(KeyError):
        write_and_fail(replacing(path), "")
    assert path.read_text() == "old"
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_is_created_only_when_it_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    with pytest.raises(KeyError):
        write_and_fail(creating_folder(folder), "a.txt")
    assert list(tmp_path.iterdir()) == []
    for content in ("1", "2"):  # the first is kept
        with creating_folder(folder) as temporary:
            (temporary / "a.txt").write_text(content)
    assert (folder / "a.txt").read_text() == "1"
    assert list(tmp_path.iterdir()) == [folder]
