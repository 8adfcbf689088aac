"""Names and units of variables in the CF conventions, for the files that we write."""

from datamodules.era5.variables import Variable

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
PERIODS = {
    "accum": "sum over the hour before the time",
    "max": "maximum in the hour before the time",
    "avg": "mean over the hour before the time",
}


def cf_attributes(variable: Variable) -> dict[str, str]:
    """The attributes of a variable in a file whose values are in the units of ERA5.

    Args:
        variable: The variable.
    """
    attributes = {
        "long_name": variable.name.replace("_", " "),
        "units": UNITS.get(variable.units, variable.units),
    }
    if variable.short_name in STANDARD_NAMES:
        attributes["standard_name"] = STANDARD_NAMES[variable.short_name]
    where = "" if variable.over == "everywhere" else f"has a meaning over {variable.over} only"
    comments = [part for part in (PERIODS.get(variable.step_type, ""), where) if part]
    return {**attributes, "comment": "; ".join(comments)} if comments else attributes
