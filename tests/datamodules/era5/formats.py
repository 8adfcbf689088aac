"""The same weather in every format that is read."""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

PARAMETERS = {"t2m": 167, "sp": 134, "tp": 228, "lsm": 172, "t": 130, "z": 129}
BITS = 24  # of a value in GRIB: 16 in most files of the store


def write_zarr(data: xr.Dataset, path: Path, version: int = 3, consolidated: bool = False) -> str:
    pytest.importorskip("zarr", reason="needs the extra gpvae[zarr]")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Consolidated metadata is currently not part")
        data.to_zarr(str(path), zarr_format=version, consolidated=consolidated)
    return str(path)


def write_grib(data: xr.Dataset, path: Path, level: str = "sfc") -> str:
    """As the store does: rain by forecasts that begin at 6 and 18 o'clock, all else by analyses."""
    eccodes = pytest.importorskip("eccodes", reason="needs the extra gpvae[grib]")
    pytest.importorskip("cfgrib", reason="needs the extra gpvae[grib]")
    north, west = data["latitude"].values, data["longitude"].values
    grid = {
        "Ni": len(west), "Nj": len(north), "iDirectionIncrementInDegrees": float(west[1] - west[0]),
        "jDirectionIncrementInDegrees": float(north[0] - north[1]), "bitsPerValue": BITS, "centre": "ecmf",
        "latitudeOfFirstGridPointInDegrees": float(north[0]), "latitudeOfLastGridPointInDegrees": float(north[-1]),
        "longitudeOfFirstGridPointInDegrees": float(west[0]), "longitudeOfLastGridPointInDegrees": float(west[-1]),
    }  # fmt: skip
    with path.open("wb") as file:
        for name, field in data.data_vars.items():
            for number, time in enumerate(pd.DatetimeIndex(data["time"].values)):
                lead = (time.hour - 7) % 12 + 1 if name == "tp" else 0
                base = time - pd.Timedelta(hours=lead)
                keys = {**grid, "table2Version": 128, "indicatorOfParameter": PARAMETERS[str(name)],
                        "dataDate": int(base.strftime("%Y%m%d")), "dataTime": 100 * base.hour}  # fmt: skip
                keys |= {"stepType": "accum", "stepRange": f"{lead - 1}-{lead}"} if lead else {}
                levels = data["level"].values if "level" in field.dims else [0]
                for place, height in enumerate(levels):
                    message = eccodes.codes_grib_new_from_samples(f"regular_ll_{level}_grib1")
                    for key, value in {**keys, **({"level": int(height)} if height else {})}.items():
                        eccodes.codes_set(message, key, value)
                    at = field.isel(time=number, **({"level": place} if height else {}))
                    eccodes.codes_set_values(message, at.values.astype(float).ravel())
                    eccodes.codes_write(message, file)
                    eccodes.codes_release(message)
    return str(path)


def write_csv(data: xr.Dataset, path: Path) -> str:
    """A row for each time and location, with units in the header."""
    table = data.drop_vars("lsm", errors="ignore").to_dataframe().reset_index()
    header = {name: f"{name} [{field.attrs['units']}]" for name, field in data.data_vars.items() if name in table}
    table.rename(columns=header).to_csv(path, index=False)
    return str(path)


def write_netcdf(data: xr.Dataset, path: Path) -> str:
    data.to_netcdf(path)
    return str(path)


FORMATS: dict[str, Callable[[xr.Dataset, Path], str]] = {
    "netCDF": lambda data, folder: write_netcdf(data, folder / "a.nc"),
    "Zarr 2": lambda data, folder: write_zarr(data, folder / "a.zarr", 2),
    "Zarr 3": lambda data, folder: write_zarr(data, folder / "a.zarr", 3),
    "Zarr, consolidated": lambda data, folder: write_zarr(data, folder / "a.zarr", 2, True),
    "Zarr by URL": lambda data, folder: "file://" + write_zarr(data, folder / "a.zarr"),
    "GRIB": lambda data, folder: write_grib(data, folder / "a.grib"),
    "CSV": lambda data, folder: write_csv(data, folder / "a.csv"),
}


def precision(how: str, data: xr.Dataset, name: str) -> float:
    """The largest error of a value in a format."""
    values = data[name].values
    return float(np.ptp(values)) / 2**BITS * 2 if how == "GRIB" else 0.0
