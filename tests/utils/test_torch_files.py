"""Files of torch are read completely or refused, before they take memory or run code."""

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from gpvae.utils import memory
from gpvae.utils.torch_files import read_torch_file


class Bomb:
    """Creates a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


def test_tensors_and_plain_values_are_read(tmp_path: Path) -> None:
    torch.save({"a": torch.arange(3), "b": [1, "x"]}, tmp_path / "a.pt")
    content = read_torch_file(tmp_path / "a.pt", "a model")
    assert content["b"] == [1, "x"]
    assert content["a"].tolist() == [0, 1, 2]


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("a.pt")
    with pytest.raises(FileNotFoundError, match=r"there is no file a\.pt\. Give another file"):
        read_torch_file(path, "a model")
    torch.save(Bomb(), path)
    with pytest.raises(ValueError, match=r"names \w+\.mkdir, which could run code"):
        read_torch_file(path, "a model")
    assert not Path("exploded").exists()
    path.write_bytes(b"text")
    with pytest.raises(ValueError, match=r"a\.pt cannot be read as a model: it may be damaged \(BadZipFile\)"):
        read_torch_file(path, "a model")


def test_a_small_file_of_many_zeros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed, 8 MB take a few kilobytes; the size is known before they are read."""
    torch.save(torch.zeros(10**6, dtype=torch.float64), tmp_path / "whole.pt")
    with zipfile.ZipFile(tmp_path / "whole.pt") as whole, zipfile.ZipFile(tmp_path / "a.pt", "w", 8) as packed:
        for name in whole.namelist():
            packed.writestr(name, whole.read(name))
    assert (tmp_path / "a.pt").stat().st_size < 20_000
    monkeypatch.setattr(memory, "free_memory", lambda: 5e6)
    with pytest.raises(ValueError, match="its values take about 8 MB of memory, and 5 MB are free"):
        read_torch_file(tmp_path / "a.pt", "a model")
