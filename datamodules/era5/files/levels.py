"""Variables on levels: one for each, such as `t@850` for the temperature at 850 hPa."""

from collections.abc import Iterator

import xarray as xr

from datamodules.era5.units import UnitError, conversion
from datamodules.era5.variables import LEVEL

PRESSURE = ("pressure_level", "isobaricInhPa", "plev", "level", "isobaric", "pressure", "isobaricInPa")


def split_levels(field: xr.DataArray, data: xr.Dataset, dims: tuple[str, ...]) -> Iterator[tuple[str, xr.DataArray]]:
    """A variable without dimensions other than time and those of the grid, by name: one for each level.

    A single level of pressure is part of the name, too; other dimensions of size 1 are not. A variable with dimensions
    that no coordinate describes, such as bounds, yields nothing.

    Args:
        field: The variable.
        data: The file, with its coordinates.
        dims: `time` and the dimensions of the grid.
    """
    name = str(field.name)
    extra = [str(dim) for dim in field.dims if dim not in dims]
    long = [dim for dim in extra if field.sizes[dim] > 1]
    pressure = next((key for key in (*extra, *PRESSURE) if _is_pressure(data, key) and data[key].size == 1), None)
    if len(long) > 1:
        return
    if long:
        (dim,) = long
        if dim not in data.variables or data[dim].dims != (dim,) or data[dim].dtype.kind not in "iuf":
            return
        for number in range(field.sizes[dim]):
            one = field.isel({dim: number}).squeeze([other for other in extra if other != dim], drop=True)
            yield _named(one, name, data[dim].isel({dim: number}))
        return
    field = field.squeeze(extra, drop=True)
    yield _named(field, name, data[pressure].squeeze()) if pressure else (name, field)


def _is_pressure(data: xr.Dataset, key: str) -> bool:
    return key in PRESSURE and key in data.variables and data[key].dtype.kind in "iuf"


def _named(field: xr.DataArray, name: str, level: xr.DataArray) -> tuple[str, xr.DataArray]:
    value, units = float(level), str(level.attrs.get("units", ""))
    try:
        scale, _ = conversion(units, "hPa")
        value, units = value * scale, "hPa"
    except UnitError:  # a height, say
        pass
    label = f"{value:.6g}"
    long_name = f"{field.attrs.get('long_name', name)} at {label} {units}".strip()
    return f"{name}{LEVEL}{label}", field.assign_attrs(long_name=long_name)
