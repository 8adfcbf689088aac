"""GRIB files, by cfgrib."""

from contextlib import ExitStack
from pathlib import Path

import xarray as xr

from datamodules.era5.files.damage import explained
from datamodules.era5.files.sizes import check_cells
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
    with explained(name):
        check_cells(_largest_field(path), name)
        datasets = xarray_store.open_variable_datasets(str(path), backend_kwargs=options, cache=False)
        for data in datasets:
            stack.callback(data.close)
    if not datasets:
        raise ValueError(f"{name} is a GRIB file without any field. Download it again.")
    return datasets


def _largest_field(path: Path) -> int:
    """The largest number of points of a field, from the headers alone: a constant one takes no space, however large."""
    import eccodes  # type: ignore[import-untyped]

    largest = 0
    with path.open("rb") as file:
        while (message := eccodes.codes_grib_new_from_file(file, headers_only=True)) is not None:
            try:
                largest = max(largest, int(eccodes.codes_get(message, "numberOfDataPoints")))
            finally:
                eccodes.codes_release(message)
    return largest
