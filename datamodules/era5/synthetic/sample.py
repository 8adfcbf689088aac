"""A synthetic sample of ERA5 that needs no network: netCDF files in the layout of the Climate Data Store."""

import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

from datamodules.data_folder import find_cached, writable_folder
from datamodules.era5.synthetic.britain import LATITUDES, LONGITUDES
from datamodules.era5.synthetic.weather import make_weather
from datamodules.era5.variables import KNOWN, StepType
from gpvae.utils.atomic import TEMPORARY_FOLDER, publish
from gpvae.utils.netcdf_lock import TURNS

START = np.datetime64("2020-01-01T00", "h")
VERSION = 2  # of the content: files of other versions in a cache are not used
STEP_TYPES: tuple[StepType, ...] = ("instant", "accum", "max")
NOTE = "SYNTHETIC weather, made up by gpvae from random waves and simple physics. Not ERA5: nothing here was measured."


def sample_files(num_hours: int) -> list[str]:
    """The files of the sample, from the cache or written now.

    Args:
        num_hours: The number of hours from the beginning of 2020.
    """
    folder, names = f"era5_sample/v{VERSION}_{num_hours}h", [_file_name(step_type) for step_type in STEP_TYPES]
    files = [find_cached(f"{folder}/{name}") for name in names]
    if None in files:
        target = writable_folder(folder)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_FOLDER, dir=target) as temporary:
            write_sample(Path(temporary), num_hours)
            for name in names:
                publish(Path(temporary) / name, target / name)
            files = [target / name for name in names]
    return [str(file) for file in files]


def write_sample(folder: Path, num_hours: int) -> None:
    """Write the sample as the Climate Data Store would: a file for each step type.

    Args:
        folder: The folder for the files.
        num_hours: The number of hours from the beginning of 2020.
    """
    fields = make_weather(START, num_hours)
    times = (START + np.arange(num_hours)).astype("datetime64[ns]")
    for step_type in STEP_TYPES:
        names = [name for name in fields if KNOWN[name].step_type == step_type]
        data = xr.Dataset(
            {
                name: (("valid_time", "latitude", "longitude"), fields[name].astype(np.float32), _attributes(name))
                for name in names
            },
            {
                "number": ((), 0, {"long_name": "ensemble member numerical id", "units": "1"}),
                "valid_time": ("valid_time", times, {"long_name": "time", "standard_name": "time"}),
                "latitude": ("latitude", LATITUDES, _degrees("latitude", "north")),
                "longitude": ("longitude", LONGITUDES, _degrees("longitude", "east")),
                "expver": ("valid_time", np.full(num_hours, "0001")),
            },
            {"Conventions": "CF-1.7", "institution": "none", "title": NOTE},
        )
        packing = {"zlib": True, "complevel": 1, "dtype": "float32", "_FillValue": np.float32(np.nan)}
        seconds = {"units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian", "dtype": "int64"}
        with TURNS:
            data.to_netcdf(
                folder / _file_name(step_type),
                engine="netcdf4",
                encoding={**dict.fromkeys(names, packing), "valid_time": seconds},
            )


def _file_name(step_type: StepType) -> str:
    return f"data_stream-oper_stepType-{step_type}.nc"


def _attributes(name: str) -> dict[str, str]:
    variable = KNOWN[name]
    text = variable.name.replace("_", " ")
    kind = {"GRIB_stepType": variable.step_type, "GRIB_units": variable.units}
    return {"long_name": text, "units": variable.units, "standard_name": "unknown", "comment": "synthetic", **kind}


def _degrees(name: str, direction: str) -> dict[str, str]:
    return {"units": f"degrees_{direction}", "standard_name": name, "long_name": name}
