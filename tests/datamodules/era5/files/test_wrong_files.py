"""Files that are not what they should be are refused in words that help."""

import io
import os
import re
import zipfile
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

from datamodules.era5 import Archive, read_era5
from datamodules.era5.files import containers
from datamodules.era5.files.classic_netcdf import expected_size
from tests.datamodules.era5.written import weather, write_new, write_old, write_step_types, write_zip


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"<html>Not found</html>", "web page"),
        (b'{"title": "required licences not accepted"}', "JSON"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"date,temperature\n", "begins with b'date,tem'"),
        (b"PK\x05\x06" + bytes(18), "empty or broken zip"),
        (b"CDF", "begins with b'CDF'"),
    ],
)
def test_not_netcdf(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(content)
    with pytest.raises(ValueError, match=r"a.nc is not a netCDF file.*") as error:
        read_era5(str(tmp_path / "a.nc"))
    assert reason in str(error.value)


@pytest.mark.parametrize("share", [0.02, 0.4, 0.97])
@pytest.mark.parametrize("layout", ["old", "new"])
def test_half_a_file(layout: str, share: float, tmp_path: Path) -> None:
    """The classic format gives zeros for what is missing at its end, without a word."""
    file = (write_old if layout == "old" else write_new)(weather(300), tmp_path / "a.nc")
    content = file.read_bytes()
    assert read_era5(str(file)) is not None
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"a.nc (is truncated|is damaged|cannot be read).*Download it again"):
        read_era5(str(file))


def test_damaged_values(tmp_path: Path) -> None:
    data = weather(400)
    encoding = {name: {"zlib": True, "fletcher32": True} for name in data.data_vars}
    data.to_netcdf(tmp_path / "a.nc", encoding=encoding)
    content = bytearray((tmp_path / "a.nc").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4000] = os.urandom(4000)
    (tmp_path / "a.nc").write_bytes(content)
    with pytest.raises(ValueError, match=r"a.nc.*is damaged.*Download"):
        read_era5(str(tmp_path / "a.nc"))


@pytest.mark.parametrize("unlimited", [False, True])
@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF3_64BIT_DATA"])
def test_every_classic_file_has_the_length_we_expect(kind: str, unlimited: bool, tmp_path: Path) -> None:
    for dtype, hours, names in (("i2", 7, "ab"), ("f8", 5, "ab"), ("i1", 1, "ab"), ("f4", 0, "a"), ("i2", 9, "a")):
        with netCDF4.Dataset(tmp_path / "a.nc", "w", format=kind) as file:
            file.title = "odd"
            file.createDimension("time", None if unlimited else max(hours, 1))
            file.createDimension("x", 3)
            for name in names:
                variable = file.createVariable(name, dtype, ("time", "x"))
                variable.note = "abcde"
                variable[:hours] = np.ones((hours, 3))
        size, expected = (tmp_path / "a.nc").stat().st_size, expected_size(tmp_path / "a.nc")
        assert expected <= size <= expected + 8


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"'era5_\*.nc' matches no file. Relative names begin at .*"):
        read_era5("era5_*.nc")
    with pytest.raises(FileNotFoundError, match=r"is a folder, not a file: add /\*.nc"):
        read_era5(str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"No files are given"):
        read_era5([])


def test_names_with_brackets_are_names_first(tmp_path: Path) -> None:
    write_new(weather(), tmp_path / "era5[1].nc")
    assert containers.expand_patterns([str(tmp_path / "era5[1].nc")] * 2) == [tmp_path / "era5[1].nc"]


def test_no_time(tmp_path: Path) -> None:
    weather().isel(time=0, drop=True).to_netcdf(tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"a.nc has no time.*\(.*t2m"):
        read_era5(str(tmp_path / "a.nc"))
    data = weather()
    data.assign_coords(time=np.arange(60)).to_netcdf(tmp_path / "b.nc")
    with pytest.raises(ValueError, match=r"time of .*b.nc is int64, not dates"):
        read_era5(str(tmp_path / "b.nc"))


def test_no_overlap_in_time(tmp_path: Path) -> None:
    write_new(weather()[["t2m"]], tmp_path / "a.nc")
    write_new(weather(start="2021-01-01T00")[["tp"]], tmp_path / "b.nc")
    with pytest.raises(ValueError, match=r"no time in common") as error:
        read_era5(str(tmp_path / "*.nc"))
    assert "t2m: 60 hours from 2020-01-30T00:00 to 2020-02-01T11:00" in str(error.value)
    assert read_era5(str(tmp_path / "*.nc"), ["tp"]).sizes["time"] == 60


def test_nothing_in_the_chosen_hours(tmp_path: Path) -> None:
    write_new(weather(), tmp_path / "a.nc")
    with (
        Archive(str(tmp_path / "a.nc")) as archive,
        pytest.raises(ValueError, match=r"No hour from 2021-01-01.* they have 60 hours from 2020-01-30"),
    ):
        archive.read(first=np.datetime64("2021-01-01"))


def test_a_variable_without_values(tmp_path: Path) -> None:
    data = weather()
    data["t2m"][:] = np.nan
    write_new(data, tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"t2m \(2m_temperature\) has no values at all, only NaN"):
        read_era5(str(tmp_path / "a.nc"))
    assert list(read_era5(str(tmp_path / "a.nc"), ["sp"]).data_vars) == ["sp"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (["t2"], r"no variable 't2' \(did you mean 't2m'\?\). They have: lsm, odd, sp, t2m, tp"),
        (["2m_temprature"], r"did you mean '2m_temperature'\?"),
        (["sea_surface_temperature"], "no variable 'sea_surface_temperature'"),
        (["lsm"], "'lsm' does not change with time"),
        (["odd"], "'odd' does not change with time"),
        (["t2m", "2m_temperature"], "'2m_temperature' is twice"),
        ([], "`variables` is empty"),
    ],
)
def test_variables_that_are_not_there(variables: list[str], message: str, tmp_path: Path) -> None:
    data = weather().assign(odd=(("latitude", "longitude"), np.ones((3, 4))))
    write_new(data, tmp_path / "a.nc")
    with pytest.raises(ValueError, match=message):
        read_era5(str(tmp_path / "a.nc"), variables)


def test_nothing_that_changes(tmp_path: Path) -> None:
    write_new(weather()[["lsm"]], tmp_path / "a.nc")
    with pytest.raises(ValueError, match=r"No variable in .*a.nc changes with time"):
        read_era5(str(tmp_path / "a.nc"))


@pytest.mark.parametrize("units", ["furlongs", "K", "m s**-2", "m**"])
def test_other_units(units: str, tmp_path: Path) -> None:
    data = weather()
    data["tp"].attrs["units"] = units
    write_new(data, tmp_path / "a.nc")
    with pytest.raises(ValueError, match=rf"tp .* in '{re.escape(units)}', ERA5 in 'm': .*Correct its attribute"):
        read_era5(str(tmp_path / "a.nc"))
    assert list(read_era5(str(tmp_path / "a.nc"), ["t2m"]).data_vars) == ["t2m"]


def test_different_grids(tmp_path: Path) -> None:
    data = weather()
    write_new(data[["t2m"]], tmp_path / "a.nc")
    write_new(data[["tp"]].isel(latitude=[0, 1]), tmp_path / "b.nc")
    with pytest.raises(ValueError, match=r"different grids: .*a.nc has 3 × 4 cells.*b.nc has 2 × 4 cells"):
        read_era5(str(tmp_path / "*.nc"))
    write_new(data[["tp"]].isel(latitude=0, longitude=0), tmp_path / "b.nc")  # only locations are joined
    with pytest.raises(ValueError, match=r"different grids: .*a.nc has 3 × 4 cells.*b.nc has 1 cells"):
        read_era5(str(tmp_path / "*.nc"))


def test_layouts_that_era5_does_not_have(tmp_path: Path) -> None:
    data = weather()
    xr.concat([data, data], xr.Variable("number", [0, 1])).to_netcdf(tmp_path / "members.nc")
    with pytest.raises(ValueError, match=r"holds 2 ensemble members"):
        read_era5(str(tmp_path / "members.nc"))
    data.drop_vars("longitude").to_netcdf(tmp_path / "nowhere.nc")
    with pytest.raises(ValueError, match=r"has no longitude among"):
        read_era5(str(tmp_path / "nowhere.nc"))
    curved = data.drop_vars(["latitude", "longitude"]).rename(latitude="y", longitude="x")
    curved = curved.assign_coords(latitude=(("y", "x"), np.ones((3, 4))), longitude=("x", np.ones(4)))
    curved.to_netcdf(tmp_path / "curved.nc")
    with pytest.raises(ValueError, match=r"have dimensions \('y', 'x'\) and \('x',\): expected a grid"):
        read_era5(str(tmp_path / "curved.nc"))


def test_names_in_archives_are_never_used(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    outside = tmp_path / "outside.nc"
    write_zip(write_step_types(weather(), inner), inner / "a.nc", ["../../../outside.nc", str(outside)])
    assert read_era5(str(inner / "a.nc"))["t2m"].shape == (60, 3, 4)
    assert not outside.exists()
    assert os.listdir(inner) == ["a.nc"]


def test_members_of_one_name_and_others_beside(tmp_path: Path) -> None:
    files = write_step_types(weather(), tmp_path)
    (tmp_path / "licence.txt").write_text("Contains modified Copernicus Climate Change Service information")
    with pytest.warns(UserWarning, match=r"Duplicate name"):
        write_zip([tmp_path / "licence.txt", *files], tmp_path / "a.nc", ["a", "b", "b"])
    assert list(read_era5(str(tmp_path / "a.nc")).data_vars) == ["t2m", "sp", "tp"]


def test_archives_that_are_too_large_or_broken_or_of_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_zip(write_step_types(weather(), tmp_path), tmp_path / "a.nc")
    content = path.read_bytes()
    path.write_bytes(content[:-3000])
    with pytest.raises(ValueError, match=r"a.nc is a zip archive that cannot be read: .*Download it again"):
        read_era5(str(path))
    flipped = bytearray(content)
    flipped[5000:5100] = bytes(byte ^ 255 for byte in flipped[5000:5100])
    path.write_bytes(flipped)
    with pytest.raises(ValueError, match=r"a.nc is a zip archive that cannot be read: Bad CRC"):
        read_era5(str(path))
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"zip archive of 2 files and 0.0 GiB unpacked, more than"):
        containers.unpack(path, tmp_path, max_bytes=1000)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.nc", "no")
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match=r"zip archive without any netCDF file"):
        read_era5(str(path))
