"""PNG files are written atomically."""

from pathlib import Path

import pytest

from gpvae.plotting import canvas
from gpvae.plotting.canvas import blank_figure, render, save_png


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = render(blank_figure(1, 1, 50)[0])
    save_png(pixels, tmp_path / "new" / "a.png")
    before = (tmp_path / "new" / "a.png").read_bytes()

    def fail(path: Path, pixels: object, format: str) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(canvas, "imsave", fail)
    with pytest.raises(OSError, match="disk full"):
        save_png(pixels, tmp_path / "new" / "a.png")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.png"]
    assert (tmp_path / "new" / "a.png").read_bytes() == before
