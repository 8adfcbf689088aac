"""The variables of ERA5: what they are called where, and how each is transformed before it is learnt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from datamodules.era5.transforms import IDENTITY, Transform
from gpvae.utils.checks import nearest

StepType = Literal["instant", "accum", "max", "avg"]


@dataclass(frozen=True)
class Variable:
    """One quantity of ERA5.

    Args:
        name: The long name, by which the Climate Data Store takes requests.
        short_name: The name in files.
        units: The units in files, and of everything we write.
        step_type: Whether it holds at the hour ("instant"), or is a sum, a maximum or a mean over the hour before.
        transform: To the scale on which it is learnt.
        over: Where it means something; elsewhere its values are masked, if the files have a land-sea mask.
        per_location: Whether each location has a mean of its own, as for what depends on height.
        static: Whether it stays the same at all times, and so is nothing to learn.
    """

    name: str
    short_name: str
    units: str
    step_type: StepType = "instant"
    transform: Transform = IDENTITY
    over: Literal["everywhere", "land", "sea"] = "everywhere"
    per_location: bool = False
    static: bool = False


RADIATION = Transform(factor=1 / 3600, least=0.0)  # J/m² over an hour to W/m²
NET_RADIATION = Transform(factor=1 / 3600)  # either sign
RAIN = Transform(factor=1000.0, least=0.0, curve="log1p")  # m to mm
COVER = Transform(least=0.0, most=1.0)

DEFAULT_VARIABLES = (
    Variable("2m_temperature", "t2m", "K"),
    Variable("2m_dewpoint_temperature", "d2m", "K"),
    Variable("10m_u_component_of_wind", "u10", "m s**-1"),
    Variable("10m_v_component_of_wind", "v10", "m s**-1"),
    Variable("instantaneous_10m_wind_gust", "i10fg", "m s**-1"),
    Variable("mean_sea_level_pressure", "msl", "Pa"),
    Variable("surface_pressure", "sp", "Pa", per_location=True),
    Variable("total_precipitation", "tp", "m", "accum", RAIN),
    Variable("total_cloud_cover", "tcc", "(0 - 1)", transform=COVER),
    Variable("low_cloud_cover", "lcc", "(0 - 1)", transform=COVER),
    Variable("total_column_water_vapour", "tcwv", "kg m**-2"),
    Variable("boundary_layer_height", "blh", "m", transform=Transform(least=1.0, curve="log")),
    Variable(
        "convective_available_potential_energy", "cape", "J kg**-1", transform=Transform(least=0.0, curve="log1p")
    ),
    Variable("surface_solar_radiation_downwards", "ssrd", "J m**-2", "accum", RADIATION),
    Variable("surface_thermal_radiation_downwards", "strd", "J m**-2", "accum", RADIATION),
    Variable("skin_temperature", "skt", "K"),
    Variable("volumetric_soil_water_layer_1", "swvl1", "m**3 m**-3", over="land"),
)
"""The seventeen that are learnt unless others are asked for."""

OTHER_VARIABLES = (
    Variable("10m_wind_gust_since_previous_post_processing", "fg10", "m s**-1", "max"),
    Variable("sea_surface_temperature", "sst", "K", over="sea"),
    Variable("toa_incident_solar_radiation", "tisr", "J m**-2", "accum", RADIATION),
    Variable("total_sky_direct_solar_radiation_at_surface", "fdir", "J m**-2", "accum", RADIATION),
    Variable("surface_net_solar_radiation", "ssr", "J m**-2", "accum", RADIATION),
    Variable("surface_net_thermal_radiation", "str", "J m**-2", "accum", NET_RADIATION),
    Variable("convective_precipitation", "cp", "m", "accum", RAIN),
    Variable("large_scale_precipitation", "lsp", "m", "accum", RAIN),
    Variable("snowfall", "sf", "m of water equivalent", "accum", RAIN),
    Variable("friction_velocity", "zust", "m s**-1"),
    Variable("instantaneous_moisture_flux", "ie", "kg m**-2 s**-1"),
    Variable("instantaneous_surface_sensible_heat_flux", "ishf", "W m**-2"),
    Variable("mean_surface_net_long_wave_radiation_flux", "avg_snlwrf", "W m**-2", "avg"),
    Variable("mean_surface_downward_long_wave_radiation_flux", "avg_sdlwrf", "W m**-2", "avg"),
    Variable("land_sea_mask", "lsm", "(0 - 1)", static=True),
    Variable("geopotential", "z", "m**2 s**-2", static=True),
    Variable("soil_type", "slt", "~", static=True),
    Variable("standard_deviation_of_orography", "sdor", "m", static=True),
)

KNOWN = {variable.short_name: variable for variable in DEFAULT_VARIABLES + OTHER_VARIABLES}
LONG_NAMES = {variable.name: variable.short_name for variable in KNOWN.values()}


def is_static(short_name: str) -> bool:
    """Whether a variable is known to stay the same at all times.

    Args:
        short_name: Its name in files.
    """
    return short_name in KNOWN and KNOWN[short_name].static


def describe(short_name: str, long_name: str = "", units: str = "") -> Variable:
    """What is known of a variable; one that is not known is learnt as it is.

    Args:
        short_name: Its name in files.
        long_name: What files say it is.
        units: The units that files give it.

    Raises:
        ValueError: The transform of the variable is for other units.
    """
    if short_name not in KNOWN:
        return Variable(long_name or short_name, short_name, units or "1")
    known = KNOWN[short_name]
    if units and known.transform.needs_units and _plain(units) != _plain(known.units):
        raise ValueError(
            f"The files give {short_name} ({known.name}) in {units!r}, ERA5 in {known.units!r}: convert it back, for "
            "its transform would be wrong, or leave it out of `variables`."
        )
    return known


def choose(wanted: Iterable[str], available: Iterable[str], changing: Iterable[str]) -> list[str]:
    """The short names of the variables that are asked for by either name.

    Args:
        wanted: Long names, as in requests, or short ones, as in files.
        available: Short names of what the files hold.
        changing: Those of them that change with time.

    Raises:
        ValueError: One is not there, is asked for twice, or never changes.
    """
    there, changing, chosen = sorted(available), set(changing), []
    for name in wanted:
        short_name = LONG_NAMES.get(name, name)
        if short_name not in there:
            hint = nearest(name, [*there, *(n for n, s in LONG_NAMES.items() if s in there)])
            raise ValueError(f"The files have no variable {name!r}{hint}. They have: {', '.join(there)}.")
        if short_name not in changing:
            raise ValueError(f"{name!r} does not change with time, so there is nothing to learn: leave it out.")
        if short_name in chosen:
            raise ValueError(f"{name!r} is twice in `variables`: ask for it once.")
        chosen.append(short_name)
    if not chosen:
        raise ValueError(f"`variables` is empty: name some, or give none for the usual ones. {', '.join(there)} exist.")
    return chosen


def _plain(units: str) -> str:
    """Units without what different writers do differently: `J m**-2` and `J m^-2` are `Jm-2`."""
    return "".join(character for character in units if character not in " *^()")


def check_observed(variables: Sequence[Variable], observed: Iterable[bool]) -> None:
    """Raise if a variable has no values.

    Args:
        variables: V variables.
        observed: Which of them have values `[V]`.
    """
    for variable, there in zip(variables, observed, strict=True):
        if not there:
            raise ValueError(
                f"{variable.short_name} ({variable.name}) has no values at all, only NaN, in the chosen hours and "
                "places: leave it out of `variables`, or choose others."
            )
