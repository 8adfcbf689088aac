"""GRIB files, by cfgrib."""

from contextlib import ExitStack
from pathlib import Path

import xarray as xr

from gpvae.utils.extras import require


def open_grib(path: Path, name: str, stack: ExitStack) -> list[xr.Dataset]:
    """Open a GRIB file, without reading values; one dataset for each of its variables.

    Fields are ordered by the time at which they are valid, so that forecasts of radiation or rain lie beside analyses.
    No index is written beside the file.

    Args:
        path: The file.
        name: Its name in messages.
        stack: Closes the file.

    Raises:
        ValueError: cfgrib is missing, or the file is damaged.
    """
    require("cfgrib", "grib", f"{name} is a GRIB file")
    from cfgrib import xarray_store

    options = {"indexpath": "", "time_dims": ("valid_time",), "errors": "raise"}
    try:
        datasets = xarray_store.open_variable_datasets(str(path), backend_kwargs=options, cache=False)
        for data in datasets:
            stack.callback(data.close)
    except Exception as error:  # anything that the libraries raise for a damaged file
        raise ValueError(f"{name} is damaged and cannot be opened: {error}. Download it again.") from error
    if not datasets:
        raise ValueError(f"{name} is a GRIB file without any field. Download it again.")
    return datasets
