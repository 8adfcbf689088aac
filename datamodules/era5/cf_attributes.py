"""Names and units of variables in the CF conventions, for the files that we write."""

from datamodules.era5.units import same_dimension
from datamodules.era5.variables import KNOWN, Variable

INTEGRAL = "integral_wrt_time_of_"
STANDARD_NAMES = {
    "t2m": "air_temperature",
    "d2m": "dew_point_temperature",
    "u10": "eastward_wind",
    "v10": "northward_wind",
    "i10fg": "wind_speed_of_gust",
    "fg10": "wind_speed_of_gust",
    "msl": "air_pressure_at_mean_sea_level",
    "sp": "surface_air_pressure",
    "tp": "lwe_thickness_of_precipitation_amount",
    "cp": "lwe_thickness_of_convective_precipitation_amount",
    "lsp": "lwe_thickness_of_stratiform_precipitation_amount",
    "sf": "lwe_thickness_of_snowfall_amount",
    "tcc": "cloud_area_fraction",
    "lcc": "low_type_cloud_area_fraction",
    "tcwv": "atmosphere_mass_content_of_water_vapor",
    "blh": "atmosphere_boundary_layer_thickness",
    "cape": "atmosphere_convective_available_potential_energy",
    "ssrd": "integral_wrt_time_of_surface_downwelling_shortwave_flux_in_air",
    "strd": "integral_wrt_time_of_surface_downwelling_longwave_flux_in_air",
    "ssr": "integral_wrt_time_of_surface_net_downward_shortwave_flux",
    "str": "integral_wrt_time_of_surface_net_downward_longwave_flux",
    "avg_snlwrf": "surface_net_downward_longwave_flux",
    "avg_sdlwrf": "surface_downwelling_longwave_flux_in_air",
    "skt": "surface_temperature",
    "sst": "sea_surface_temperature",
    "swvl1": "volume_fraction_of_condensed_water_in_soil",
}
UNITS = {"(0 - 1)": "1", "~": "1", "m of water equivalent": "m"}  # units of ECMWF that UDUNITS cannot parse
STATISTICS = {"accum": "sum over", "max": "maximum in", "avg": "mean over"}


def cf_attributes(variable: Variable) -> dict[str, str]:
    """The attributes of a variable in a file whose values are in its units.

    Args:
        variable: The variable.
    """
    attributes = {
        "long_name": variable.name.replace("_", " "),
        "units": UNITS.get(variable.units, variable.units),
    }
    if standard_name := _standard_name(variable):
        attributes["standard_name"] = standard_name
    period = "hour" if variable.period == 1 else f"{variable.period:g} hours"
    statistic = STATISTICS.get(variable.step_type)
    when = f"{statistic} the {period} before the time" if statistic else ""
    where = "" if variable.over == "everywhere" else f"defined over {variable.over} only"
    comments = [part for part in (when, where) if part]
    return {**attributes, "comment": "; ".join(comments)} if comments else attributes


def _standard_name(variable: Variable) -> str:
    """The standard name of a variable in its units, as CF ties a name to a dimension; empty if there is none."""
    known = KNOWN.get(variable.short_name)
    if known is None:
        return variable.standard_name
    name = STANDARD_NAMES.get(variable.short_name, "")
    if variable.units == known.units or same_dimension(variable.units, known.units):
        return name
    return name.removeprefix(INTEGRAL) if name.startswith(INTEGRAL) else ""
