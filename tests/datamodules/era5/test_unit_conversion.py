"""A stream in any units: learnt as in those of ERA5, and everything that comes out is in the units of the file."""

from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from callbacks.predictions.cf_file import PredictionFile
from datamodules.era5 import ERA5, read_era5
from datamodules.era5.cf_attributes import STANDARD_NAMES, cf_attributes
from datamodules.era5.units import same_dimension
from datamodules.era5.variables import KNOWN, describe
from tests.datamodules.era5.streams import made
from tests.datamodules.era5.written import CELL, weather, write_new

#: For each unit of ERA5, others that files have.
ALTERNATIVES = {
    "K": ["degC", "degrees_celsius", "°F"],
    "m s**-1": ["knots", "km/h"],
    "Pa": ["hPa", "mbar"],
    "(0 - 1)": ["%", "okta"],
    "kg m**-2": ["mm", "g m-2"],
    "J kg**-1": ["kJ/kg"],
    "J m**-2": ["W m-2", "kJ/m2", "kWh m-2"],
    "m**3 m**-3": ["%"],
    "W m**-2": ["kW m-2"],
    "kg m**-2 s**-1": ["g m-2 s-1"],
    "m of water equivalent": ["mm", "kg m-2"],
}
RAINFALL = ["mm", "kg m-2", "mm/h", "kg m-2 s-1", "inches"]
TYPICAL = {
    "K": (280, 8),
    "Pa": (1e5, 800),
    "(0 - 1)": (0.5, 0.3),
    "J m**-2": (8e5, 3e5),
    "m": (400, 150),
    "m**3 m**-3": (0.3, 0.1),
    "kg m**-2 s**-1": (1e-3, 5e-4),
    "m of water equivalent": (0.001, 0.0008),
}
LEARNT = [variable for variable in KNOWN.values() if not variable.static]
CASES = [
    (variable.short_name, unit)
    for variable in LEARNT
    for unit in (RAINFALL if variable.short_name in ("tp", "cp", "lsp") else ALTERNATIVES.get(variable.units, ["km"]))
    if unit != "kW m-2" or variable.units == "W m**-2"
]


def blank() -> xr.Dataset:
    """Times and a grid, without variables."""
    return weather().drop_vars(["t2m", "sp", "tp", "lsm"])


def one_variable(name: str, step: int = 1) -> xr.Dataset:
    """Plausible values of a variable in the units of ERA5."""
    mean, spread = (0.001, 0.0008) if "precip" in KNOWN[name].name else TYPICAL.get(KNOWN[name].units, (5, 2))
    values = np.abs(mean + spread * np.random.default_rng(0).standard_normal((60, 3, 4)))
    values = values.clip(0, 1) if KNOWN[name].units == "(0 - 1)" else values
    data = blank().assign({name: (("time", *CELL), values, {"units": KNOWN[name].units})})
    times = data["time"].values
    return data.assign_coords(time=times[0] + step * (times - times[0]))


def in_units(data: xr.Dataset, name: str, units: str, period: float = 1.0) -> xr.Dataset:
    scale, offset = KNOWN[name].conversion(KNOWN[name].units, units, period)
    return data.assign({name: (data[name].dims, data[name].values * scale + offset, {"units": units})})


def stream_of(data: xr.Dataset, step: int = 1) -> ERA5:
    return made(source="files", paths=data, num_tasks=3, hours_per_task=20 * step, points=None)


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize(("name", "units"), CASES)
def test_every_variable_in_other_units(name: str, units: str, step: int) -> None:
    original = one_variable(name, step)
    converted = in_units(original, name, units, step)
    expected, found = stream_of(original, step), stream_of(converted, step)
    assert found.units == [units]
    assert found.variables[0].short_name == name
    for task in range(3):
        (times, y, mask), (_, same, _) = expected.task_data(task), found.task_data(task)
        torch.testing.assert_close(same, y, rtol=1e-4, atol=1e-4)
        truth = torch.tensor(converted[name].values.reshape(60, 12).T)[:, (times / step).long()]
        back = found.to_physical(same, torch.arange(12))[..., 0]
        torch.testing.assert_close(back, truth, rtol=2e-4, atol=1e-5 * float(truth.abs().max()))
        assert mask.all()
    read = read_era5(converted)[name]
    assert read.attrs["units"] == units
    np.testing.assert_array_equal(read.values, converted[name].values.astype(np.float32))


@pytest.mark.parametrize(("name", "units"), CASES)
def test_bounds_hold_in_any_units(name: str, units: str) -> None:
    """Whatever a model makes up: no rain is negative, and no cloud covers more than all of the sky."""
    stream = stream_of(in_units(one_variable(name), name, units))
    made_up = torch.linspace(-50, 50, 101, dtype=torch.float64).expand(12, -1)[..., None]
    values = stream.to_physical(made_up, torch.arange(12))
    scale, offset = KNOWN[name].conversion(units, KNOWN[name].units)
    bounds = KNOWN[name].transform
    known = (values * scale + offset) * bounds.factor
    assert (values.diff(dim=1) >= 0).all()
    assert known.min() >= (-torch.inf if bounds.low is None else bounds.low - 1e-9)
    assert known.max() <= (torch.inf if bounds.high is None else bounds.high + 1e-9)


@pytest.mark.parametrize("name", [variable.short_name for variable in LEARNT])
def test_nonsense_is_refused_by_name(name: str) -> None:
    data = one_variable(name)
    for units in ("bananas", "mol"):
        data[name].attrs["units"] = units
        with pytest.raises(ValueError, match=rf"The files give {name} \({KNOWN[name].name}\) in '{units}'"):
            stream_of(data)


def test_units_that_are_not_stated_are_those_of_era5() -> None:
    data = one_variable("tp")
    del data["tp"].attrs["units"]
    assert stream_of(data).units == ["m"]


def test_files_in_different_units_are_converted_to_those_of_the_first(tmp_path: Path) -> None:
    data = weather().assign(wind=weather()["t2m"].assign_attrs(units="km/h"))
    early, late = data.isel(time=slice(0, 30)), data.isel(time=slice(30, 60)).copy(deep=True)
    late["t2m"] = (late["t2m"] - 273.15).assign_attrs(units="degC")
    late["tp"] = (late["tp"] * 1000 / 3600).assign_attrs(units="kg m-2 s-1")
    late["lsm"] = (late["lsm"] * 100).assign_attrs(units="%")
    late["wind"] = (late["wind"] / 3.6).assign_attrs(units="m s-1")
    write_new(early, tmp_path / "a.nc")
    write_new(late, tmp_path / "b.nc")
    read = read_era5(str(tmp_path / "*.nc"))
    for name in ("t2m", "tp", "sp", "wind"):
        assert read[name].attrs["units"] == data[name].attrs["units"]
        np.testing.assert_allclose(read[name], data[name], rtol=1e-6, atol=1e-9)
    reverse = read_era5([str(tmp_path / "b.nc"), str(tmp_path / "a.nc")], ["t2m"])["t2m"]
    assert reverse.attrs["units"] == "degC"
    np.testing.assert_allclose(reverse, data["t2m"] - 273.15, atol=1e-4)


def test_files_whose_units_do_not_agree(tmp_path: Path) -> None:
    data = weather().assign(index=weather()["t2m"].assign_attrs(units="bananas"))
    write_new(data.isel(time=slice(0, 30)), tmp_path / "a.nc")
    data["index"].attrs["units"] = "apples"
    write_new(data.isel(time=slice(30, 60)), tmp_path / "b.nc")
    with pytest.raises(ValueError, match=r"b.nc gives index in 'apples', where 'bananas' or units that can be"):
        read_era5(str(tmp_path / "*.nc"))


def test_a_land_sea_mask_in_percent(tmp_path: Path) -> None:
    data = weather()
    write_new(data.assign(lsm=(data["lsm"] * 100).assign_attrs(units="%")), tmp_path / "a.nc")
    stream = made(source="files", paths=str(tmp_path / "a.nc"), num_tasks=1, points=None, land_only=True)
    assert stream.num_series == int((data["lsm"][0] >= 0.5).sum())


def test_an_own_variable_keeps_its_name_and_units(tmp_path: Path) -> None:
    own = {"units": "bananas", "long_name": "Mean banana index", "standard_name": "banana_index"}
    data = blank().assign(b=weather()["t2m"].assign_attrs(own))
    stream = stream_of(data)
    coordinates, times = stream.file_coordinates, np.arange(4)
    file = PredictionFile(tmp_path / "p.nc", coordinates, seconds=times, quantiles=[0.5], attributes={})
    zeros = np.zeros((12, 4), np.float32)
    file.write(stream.variables[0], zeros, zeros, zeros[None])
    file.close()
    with xr.open_dataset(tmp_path / "p.nc") as written:
        assert written["b"].attrs["units"] == written["b_std"].attrs["units"] == "bananas"
        assert written["b"].attrs["standard_name"] == "banana_index"
        assert written["b"].attrs["long_name"] == "Mean banana index, predictive mean"


def test_standard_names_fit_the_units() -> None:
    assert cf_attributes(describe("t2m", units="degC"))["standard_name"] == "air_temperature"
    flux = cf_attributes(describe("ssrd", units="W m-2", period=3))
    assert flux["standard_name"] == "surface_downwelling_shortwave_flux_in_air"
    assert flux["comment"] == "mean over the 3 hours before the time"
    rain = cf_attributes(describe("tp", units="kg m-2"))
    assert "standard_name" not in rain  # that of a thickness
    assert rain["comment"] == "sum over the hour before the time"
    for name in STANDARD_NAMES:
        assert cf_attributes(KNOWN[name])["standard_name"] == STANDARD_NAMES[name]
        assert same_dimension(KNOWN[name].units, describe(name, units=KNOWN[name].units).units)
