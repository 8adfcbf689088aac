"""Read ERA5 files of any layout in one call."""

from collections.abc import Iterable

import xarray as xr

from datamodules.era5.files.archive import Archive


def read_era5(paths: str | Iterable[str] | xr.Dataset, variables: Iterable[str] | None = None) -> xr.Dataset:
    """Read ERA5 files of any layout as one dataset over `time`, `latitude` and `longitude`.

    Args:
        paths: Names of files, or patterns; or an xarray dataset.
        variables: Long or short names; all that change with time if not given.
    """
    with Archive(paths) as archive:
        return archive.read(variables)
