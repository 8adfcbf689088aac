"""Read ERA5 files of any layout in one call."""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from datamodules.era5.fields import Fields
from datamodules.era5.files.archive import Archive
from datamodules.era5.files.file_part import file_with
from datamodules.era5.screening import Screen


def read_era5(paths: str | Iterable[str] | xr.Dataset, variables: Iterable[str] | None = None) -> xr.Dataset:
    """Read ERA5 files of any layout as one dataset over `time`, `latitude` and `longitude`.

    As in a stream, impossible values become NaN, which is logged.

    Args:
        paths: Names of files, or patterns; or an xarray dataset.
        variables: Long or short names; all that change with time if not given.

    Raises:
        ValueError: A file is damaged, or more than 1 % of the values of a variable are impossible.
    """
    with Archive(paths) as archive:
        data = archive.read(variables)
        names, times = [str(name) for name in data.data_vars], data["time"].values
        described = tuple(archive.variable(name) for name in names)
        values = [data[name].values.reshape(len(times), -1).T for name in names]  # views [S, T]
        fields = Fields(
            variables=described,
            read=lambda first, before: np.stack([one[:, first:before] for one in values], axis=-1),
            hours=(times - times[0]) / np.timedelta64(1, "h"),
            origin=times[0],
            latitude=archive.grid.cells[:, 0],
            longitude=archive.grid.cells[:, 1],
            fills=tuple(archive.fills(variable.short_name, variable.units) for variable in described),
            file_of=lambda number, hour: file_with(archive.parts, names[number], times[hour]),
        )
        screen = Screen(fields)
        for number, some in enumerate(values):
            some[screen.impossible(number, some, first=0)] = np.nan
        screen.report()
    return data
