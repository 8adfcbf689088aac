"""A lock is held by one at a time, and is gone when it is released."""

import os
import sys
from pathlib import Path

import pytest

from gpvae.utils.locks import acquire, excludes_others, exclusive, release

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")


def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    descriptor = acquire(path)
    assert descriptor is not None
    assert acquire(path, timeout=0.1) is None
    assert excludes_others(path)
    release(path, descriptor)
    assert not path.exists()
    with exclusive(path, "another run is at it"):
        assert acquire(path) is None
    assert not path.exists()


def test_the_lock_file_of_another_user_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, open_file = tmp_path / "a.lock", os.open
    path.touch()

    def open_read_only(path: Path, flags: int, *mode: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return open_file(path, flags, *mode)

    monkeypatch.setattr("os.open", open_read_only)
    descriptor = acquire(path)
    assert descriptor is not None
    assert acquire(path) is None
    os.close(descriptor)
