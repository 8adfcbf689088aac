"""The files that the Climate Data Store would send for a request, taken from the sample."""

import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from datamodules.era5.synthetic.sample import write_sample
from datamodules.era5.variables import LONG_NAMES

NUM_HOURS = 33 * 24  # to the 2nd of February
SECONDS = {"units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian", "dtype": "int64"}


class Weather:
    """The sample, a dataset for each step type."""

    def __init__(self) -> None:
        self._answers: dict[str, bytes] = {}
        with tempfile.TemporaryDirectory() as folder:
            write_sample(Path(folder), NUM_HOURS)
            self.files = {
                path.name: xr.load_dataset(path, engine="netcdf4").drop_encoding() for path in Path(folder).iterdir()
            }

    def fields(self, request: dict[str, Any]) -> dict[str, xr.Dataset]:
        """The requested values, by the name of their file."""
        names = [LONG_NAMES[name] for name in request["variable"]]
        if "location" in request:  # as the dataset of point series does
            first, last = request["date"][0].split("/")
            return {
                name: data[here].sel(valid_time=slice(first, last)).sel(request["location"], method="nearest")
                for name, data in self.files.items()
                if (here := [variable for variable in names if variable in data])
            }
        north, west, south, east = request["area"]
        month = f"{request['year'][0]}-{request['month'][0]}"
        hours = [np.datetime64(f"{month}-{day}T{hour}", "ns") for day in request["day"] for hour in request["time"]]
        return {
            name: data[here].sel(valid_time=hours, latitude=slice(north, south), longitude=slice(west, east))
            for name, data in self.files.items()
            if (here := [variable for variable in names if variable in data])
        }

    def answer(self, request: dict[str, Any], preliminary: bool = False) -> bytes:
        """A netCDF file, or a zip archive if there is more than one of them."""
        question = json.dumps([request, preliminary])
        if question not in self._answers:
            self._answers[question] = self._answer(request, preliminary)
        return self._answers[question]

    def _answer(self, request: dict[str, Any], preliminary: bool) -> bytes:
        contents = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, data in self.fields(request).items():
                if preliminary:
                    data["expver"] = "valid_time", np.full(data.sizes["valid_time"], "0005")
                data.to_netcdf(Path(folder) / name, engine="netcdf4", encoding={"valid_time": SECONDS})
                contents[name] = (Path(folder) / name).read_bytes()
        return zipped(contents) if len(contents) > 1 else next(iter(contents.values()))


def zipped(contents: dict[str, bytes]) -> bytes:
    """An archive, compressed as those of the store are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()
