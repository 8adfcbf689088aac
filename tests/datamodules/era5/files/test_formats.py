"""The same hours through netCDF, Zarr, GRIB and CSV are the same stream."""

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from datamodules.era5 import Archive, read_era5
from tests.datamodules.era5.formats import FORMATS, precision, write_grib, write_netcdf, write_zarr
from tests.datamodules.era5.streams import made
from tests.datamodules.era5.written import CELL, weather, write_new, write_zip

FEW: dict[str, Any] = {"source": "files", "num_tasks": 3, "hours_per_task": 20, "points": 5, "variables": ["t2m", "tp"]}


@pytest.mark.parametrize("how", FORMATS)
def test_the_same_dataset(how: str, tmp_path: Path) -> None:
    data = weather()
    read = read_era5(FORMATS[how](data, tmp_path))
    np.testing.assert_array_equal(read["time"], data["time"])
    if how == "CSV":  # a list of locations
        cells = {"latitude": read["latitude"], "longitude": read["longitude"]}
        data = data.sel({key: xr.DataArray(place.values, dims="location") for key, place in cells.items()})
    for name in ("t2m", "sp", "tp"):
        assert read[name].attrs["units"] == data[name].attrs["units"]
        np.testing.assert_allclose(read[name], data[name], rtol=0, atol=precision(how, data, name) + 1e-9)
    np.testing.assert_array_equal(read["latitude"], data["latitude"])
    np.testing.assert_array_equal(read["longitude"], data["longitude"])


@pytest.mark.parametrize("how", FORMATS)
def test_the_same_batches_and_coordinates(how: str, tmp_path: Path) -> None:
    data = weather()
    (tmp_path / "other").mkdir()
    data.to_netcdf(tmp_path / "other" / "a.nc")
    where = [[51.75, -0.5], [52.0, -0.25]]
    found = made(**FEW, paths=FORMATS[how](data, tmp_path), locations=where)
    expected = made(**FEW, paths=str(tmp_path / "other" / "a.nc"), locations=where)
    tolerance = 1e-5 if how == "GRIB" else 0.0
    for task in range(3):
        for part, other in zip(found.task_data(task), expected.task_data(task), strict=True):
            torch.testing.assert_close(part, other, rtol=0, atol=tolerance)
    for here, there in zip(found.file_coordinates, expected.file_coordinates, strict=True):
        np.testing.assert_array_equal(here, there)
    assert found.units == expected.units
    if how != "GRIB":
        assert str(found.identity()) == str(expected.identity())


@pytest.mark.parametrize("url", [False, True])
def test_values_of_zarr_are_read_as_needed(url: bool, tmp_path: Path) -> None:
    """Chunks that are not asked for may as well be missing."""
    data = weather()
    pytest.importorskip("zarr", reason="needs the extra gpvae[zarr]")
    data["t2m"].encoding["chunks"] = (20, 3, 4)
    data["sp"].encoding["chunks"] = (20, 3, 4)
    path = write_zarr(data, tmp_path / "a.zarr", 2)
    (tmp_path / "a.zarr" / "sp" / "2.0.0").write_bytes(b"damaged")
    with Archive(f"file://{path}" if url else path) as archive:
        early = archive.read(["t2m", "sp"], before=data["time"].values[40])
        np.testing.assert_array_equal(early["sp"], data["sp"][:40])
        with pytest.raises(ValueError, match=r"sp in .*a.zarr is damaged"):
            archive.read(["sp"])


def test_a_url_in_memory() -> None:
    pytest.importorskip("zarr", reason="needs the extra gpvae[zarr]")
    data = weather()
    data.to_zarr("memory://weather.zarr", consolidated=False)
    xr.testing.assert_equal(read_era5("memory://weather.zarr"), read_era5(data))
    stream = made(**FEW, paths="memory://weather.zarr")
    assert "memory://weather.zarr" in stream.fields.sources[0]


def test_stores_by_pattern_and_beside_files(tmp_path: Path) -> None:
    data = weather()
    write_zarr(data.isel(time=slice(0, 20)), tmp_path / "era5_1.zarr")
    write_zarr(data.isel(time=slice(20, 40)), tmp_path / "era5_2.zarr")
    write_new(data.isel(time=slice(40, 60)), tmp_path / "era5_3.nc")
    xr.testing.assert_equal(read_era5(str(tmp_path / "era5_*")), read_era5(data))


def test_a_store_has_a_version(tmp_path: Path) -> None:
    path = write_zarr(weather(), tmp_path / "a.zarr")
    with Archive(path) as archive:
        before = archive.sources
    write_zarr(weather().isel(time=slice(0, 10)), tmp_path / "a.zarr" / "more")
    with Archive(path) as archive:
        assert archive.sources != before


def test_levels_of_pressure_in_grib(tmp_path: Path) -> None:
    data = weather().rename(t2m="t")[["t"]].isel(time=slice(0, 5))
    data = xr.concat([data, data + 10], xr.Variable("level", [500, 850]))
    read = read_era5(write_grib(data.transpose("time", ...), tmp_path / "a.grib", "pl"))
    assert list(read.data_vars) == ["t@500", "t@850"]
    np.testing.assert_allclose(read["t@850"], data["t"].sel(level=850), atol=1e-4)
    assert read["t@850"].attrs["units"] == "K"


def test_grib_in_a_zip_and_nothing_is_written_beside(tmp_path: Path) -> None:
    file = write_grib(weather(), tmp_path / "a.grib")
    write_zip([Path(file)], tmp_path / "download.zip")
    assert read_era5(str(tmp_path / "download.zip")).sizes["time"] == 60
    write_grib(weather(), tmp_path / "a.grib")
    read_era5(file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.grib", "download.zip"]


@pytest.mark.parametrize("share", [0.001, 0.503, 0.999])
def test_half_a_grib(share: float, tmp_path: Path) -> None:
    path = Path(write_grib(weather(), tmp_path / "a.grib"))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"a.grib is damaged and cannot be opened: .*Download it again"):
        read_era5(str(path))


def test_a_store_that_is_none(tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="needs the extra gpvae[zarr]")
    (tmp_path / "zarr.json").write_text("no metadata")
    with pytest.raises(ValueError, match=r"cannot be opened as a Zarr store: .*Copy it again"):
        read_era5(str(tmp_path))
    with pytest.raises(ValueError, match=r"'?memory://nowhere.zarr'? cannot be opened as a Zarr store"):
        read_era5("memory://nowhere.zarr")
    with pytest.raises(ValueError, match=r"Protocol not known: nope.*Only Zarr stores are read by URL"):
        read_era5("nope://bucket/a.zarr")


@pytest.mark.parametrize(("package", "extra"), [("cfgrib", "grib"), ("zarr", "zarr")])
def test_an_extra_that_is_missing_is_named(
    package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.grib").write_bytes(b"GRIB and so on")
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text("{}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=rf"needs {package}: pip install 'gpvae\[{extra}\]'"):
        read_era5(str(tmp_path / f"a.{extra}"))


def test_extras_are_imported_only_when_needed() -> None:
    code = "import sys, datamodules; print([name for name in ('zarr', 'cfgrib', 'eccodes') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def point() -> xr.Dataset:
    return weather().isel(latitude=1, longitude=2).drop_vars("lsm")


def table(**columns: Any) -> pd.DataFrame:
    data = point()
    frame = data.drop_vars(CELL).to_dataframe().reset_index()
    return frame.assign(**columns)


def test_a_table_as_the_store_delivers_it(tmp_path: Path) -> None:
    """Several tables of some variables each, in a zip archive, with latitude and longitude as columns."""
    frame = table(latitude=51.75, longitude=-0.5).rename(columns={"time": "valid_time"})
    for number, names in enumerate((["t2m", "sp"], ["tp"])):
        frame[["valid_time", *names, "latitude", "longitude"]].to_csv(tmp_path / f"sfc{number}.csv", index=False)
    files = [tmp_path / "sfc0.csv", tmp_path / "sfc1.csv"]
    read = read_era5(str(write_zip(files, tmp_path / "download.zip")))
    np.testing.assert_array_equal(read["tp"][:, 0], point()["tp"])
    np.testing.assert_array_equal(read["t2m"][:, 0], point()["t2m"])
    assert (float(read["latitude"][0]), float(read["longitude"][0])) == (51.75, -0.5)


def test_the_point_series_of_the_store_in_netcdf(tmp_path: Path) -> None:
    write_netcdf(point().rename(time="valid_time"), tmp_path / "a.nc")
    write_netcdf(weather().isel(latitude=0, longitude=0).rename(time="valid_time"), tmp_path / "b.nc")
    read = read_era5(str(tmp_path / "*.nc"))
    np.testing.assert_array_equal(read["t2m"][:, 0], point()["t2m"])
    assert read["t2m"].shape == (60, 2)


@pytest.mark.parametrize("style", ["t2m [degC]", "t2m (degC)", "t2m [°C]", "t2m[degC]"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_units_in_the_header(style: str, separator: str, tmp_path: Path) -> None:
    frame = table(latitude=51.75, longitude=-0.5)
    frame["t2m"] -= 273.15
    frame.rename(columns={"t2m": style}).to_csv(tmp_path / "a.csv", index=False, sep=separator)
    read = read_era5(str(tmp_path / "a.csv"))
    assert read["t2m"].attrs["units"] in ("degC", "°C")
    np.testing.assert_allclose(read["t2m"][:, 0], point()["t2m"] - 273.15, rtol=1e-5)


def test_a_table_without_a_place_takes_that_of_the_options(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("# a comment\n")
        table(remark="none").rename(columns={"time": "date"}).to_csv(file, index=False)
    with pytest.raises(ValueError, match=r"a.csv.gz has no latitude and no longitude .*give `locations`"):
        read_era5(str(tmp_path / "a.csv.gz"))
    stream = made(**FEW, paths=str(tmp_path / "a.csv.gz"), locations=[[51.4, -0.2]])
    assert stream.num_series == 1
    assert [float(axis[0]) for axis in stream.file_coordinates[:2]] == [51.4, -0.2]


def test_times_with_an_offset(tmp_path: Path) -> None:
    frame = table(latitude=51.75, longitude=-0.5)
    frame["time"] = [f"{time + pd.Timedelta(hours=2):%Y-%m-%dT%H:%M}+02:00" for time in frame["time"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_array_equal(read_era5(str(tmp_path / "a.csv"))["time"], point()["time"])


def test_gaps_in_a_table(tmp_path: Path) -> None:
    frame = table(latitude=51.75, longitude=-0.5).drop(index=[4, 5])
    frame.loc[7, "t2m"] = np.nan
    frame.to_csv(tmp_path / "a.csv", index=False)
    read = read_era5(str(tmp_path / "a.csv"))
    assert read.sizes["time"] == 58
    assert np.flatnonzero(read["t2m"].isnull().values).tolist() == [5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t2m,sp\n280,99000\n", "no column of times, such as `time`: it has t2m, sp"),
        ("time,t2m\n31/01/2020,280\n", "A time of .*a.csv is not a date such as 2020-01-31 06:00"),
        ("time,t2m\n2020-01-01,280\n2020-01-02,warm\n", "t2m in .*a.csv has the value 'warm', which is not a number"),
        ("time,t2m\n2020-01-01,280\n2020-01-01,281\n", "several rows for one time"),
        ("time,lat,lon,t2m\n2020-01-01,north,east,280\n", "Latitude and longitude in .*a.csv are not numbers"),
        ("time,t2m\n2020-01-01,1,2,3\n2020-01-02\n", "a.csv"),
        ("\0\0\0", "a.csv"),
    ],
)
def test_tables_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_era5(str(tmp_path / "a.csv"))


def test_real_measurements_in_a_table() -> None:
    """Measurements of an airport with ERA5 beside them, as somebody published them."""
    from datamodules.public_files import data_dir

    path = data_dir() / "era5" / "london_2020.csv.gz"
    if not path.exists():
        pytest.skip(f"no {path}; set GPVAE_DATA_DIR")
    stream = made(source="files", paths=str(path), locations=[[51.48, -0.45]], variables=["t2m", "temp", "pm25"])
    assert [variable.short_name for variable in stream.variables] == ["t2m", "temp", "pm25"]
    assert stream.units == ["K", "1", "1"]
