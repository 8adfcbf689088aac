"""Downloaded files and archives are verified before they are used."""

import io
import zipfile
from pathlib import Path

import pytest

from datamodules.era5.cds.errors import JobFailed
from datamodules.era5.cds.verify import verify_file
from datamodules.era5.files.containers import unpack
from tests.datamodules.era5.cds.answers import Weather, zipped
from tests.datamodules.era5.cds.runs import REQUESTS


def test_files_of_the_store_are_accepted(weather: Weather, tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(weather.answer(REQUESTS[0]))
    assert zipfile.is_zipfile(tmp_path / "a.nc")
    assert verify_file(tmp_path / "a.nc", REQUESTS[0]) == 0


def test_files_that_overlap(tmp_path: Path) -> None:
    """Many names for the same bytes make a small archive large."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.nc", b"CDF\x01" + bytes(10_000))
        archive.filelist *= 9
    (tmp_path / "a.nc").write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match=r"a.nc is a zip archive whose files overlap"):
        unpack(tmp_path / "a.nc", tmp_path)


def test_paths_in_archives_are_ignored(weather: Weather, tmp_path: Path) -> None:
    outside = tmp_path / "outside.nc"
    with zipfile.ZipFile(io.BytesIO(weather.answer(REQUESTS[0]))) as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    names = ["../" * 8 + "outside.nc", str(outside)]
    (tmp_path / "a.nc").write_bytes(zipped(dict(zip(names, contents, strict=True))))
    assert verify_file(tmp_path / "a.nc", REQUESTS[0]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


def test_archives_larger_than_the_request(tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(zipped({"a.nc": bytes(20 * 2**20)}))
    with pytest.raises(
        JobFailed, match=r"The downloaded file cannot be used: the file is a zip archive of 1 files and 0.0 GiB"
    ):
        verify_file(tmp_path / "a.nc", REQUESTS[0])
