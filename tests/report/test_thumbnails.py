"""Pictures are reduced, and a damaged one does not fail the report."""

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from gpvae.report.page import write_report
from gpvae.report.thumbnails import MAX_WIDTH, data_uri, final_pictures
from tests.report.made import config, write_picture, write_run
from tests.report.reading import Page


def test_pictures_are_made_smaller_not_larger(tmp_path: Path) -> None:
    for size, expected in (((3000, 1000), (MAX_WIDTH, MAX_WIDTH // 3)), ((200, 100), (200, 100))):
        address, *found = data_uri(write_picture(tmp_path, size=size))
        assert tuple(found) == expected
        picture = Image.open(io.BytesIO(base64.b64decode(address.removeprefix("data:image/png;base64,"))))
        assert picture.size == expected


def test_pictures_of_the_last_task_are_taken(tmp_path: Path) -> None:
    for name in ("stream_01", "stream_10", "skill", "forgetting_nlpd", "reconstructions_10"):
        write_picture(tmp_path, name, size=(20, 10))
    assert [path.stem for path in final_pictures(tmp_path, 10)] == ["reconstructions_10", "skill", "stream_10"]
    assert final_pictures(tmp_path / "none", 10) == []


@pytest.mark.parametrize("kept", [0, 10, 60, 300])
def test_broken_pictures_are_named(tmp_path: Path, kept: int) -> None:
    folder = write_run(tmp_path / "toy" / "seed_0", 0, config())
    path = write_picture(folder)
    path.write_bytes(path.read_bytes()[:kept])
    write_report([tmp_path], tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    assert "stream_03.png cannot be read as a picture" in page.text


def test_a_picture_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = write_picture(tmp_path)
    content = bytearray(path.read_bytes())
    content[16:24] = (60_000).to_bytes(4, "big") * 2  # width and height
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read as a picture"):
        data_uri(path)
