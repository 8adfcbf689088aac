"""The variables of ERA5: their names, units and transforms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from gpvae.utils.checks import nearest


@dataclass(frozen=True)
class Transform:
    """A factor, bounds and a curve; monotone, so quantiles stay quantiles.

    The inverse respects the bounds: a Gaussian may put some mass on negative rain, but no rain is negative.

    Args:
        factor: The factor that values in files are multiplied by.
        low: The lower bound, after the factor; values below it come from rounding.
        high: The upper bound, after the factor.
        curve: "linear" applies no curve; "log" and "log1p" take that logarithm.
    """

    factor: float = 1.0
    low: float | None = None
    high: float | None = None
    curve: Literal["linear", "log", "log1p"] = "linear"

    @property
    def needs_units(self) -> bool:
        """Whether the transform is valid for particular units only."""
        return self.factor != 1.0 or self.curve != "linear"

    def to_model(self, values: Tensor) -> Tensor:
        """Values on the scale of the model.

        Args:
            values: In the units of files; NaN stays NaN.
        """
        values = self._clamp(values * self.factor)
        if self.curve == "log":
            return values.log()
        return values.log1p() if self.curve == "log1p" else values

    def to_physical(self, values: Tensor) -> Tensor:
        """Values in the units of files.

        Args:
            values: On the scale of the model.
        """
        if self.curve == "log":
            values = values.exp()
        elif self.curve == "log1p":
            values = values.expm1()
        return self._clamp(values) / self.factor

    def _clamp(self, values: Tensor) -> Tensor:
        return values if self.low is None and self.high is None else values.clamp(self.low, self.high)


IDENTITY = Transform()


StepType = Literal["instant", "accum", "max", "avg"]


@dataclass(frozen=True)
class Variable:
    """One quantity of ERA5.

    Args:
        name: The long name, as in requests to the Climate Data Store.
        short_name: The name in files.
        units: The units in files, and of everything we write.
        step_type: Whether it holds at the hour ("instant"), or is a sum, a maximum or a mean over the hour before.
        transform: The transform to the scale on which it is learnt.
        over: Where it is defined; elsewhere its values are masked, if the files have a land-sea mask.
        per_location: Whether each location has its own mean, as for variables that depend on height.
        static: Whether it is constant in time, so that there is nothing to learn.
    """

    name: str
    short_name: str
    units: str
    step_type: StepType = "instant"
    transform: Transform = IDENTITY
    over: Literal["everywhere", "land", "sea"] = "everywhere"
    per_location: bool = False
    static: bool = False


RADIATION = Transform(factor=1 / 3600, low=0.0)  # J/m² over an hour to W/m²
NET_RADIATION = Transform(factor=1 / 3600)  # either sign
RAIN = Transform(factor=1000.0, low=0.0, curve="log1p")  # m to mm
COVER = Transform(low=0.0, high=1.0)

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
    Variable("boundary_layer_height", "blh", "m", transform=Transform(low=1.0, curve="log")),
    Variable("convective_available_potential_energy", "cape", "J kg**-1", transform=Transform(low=0.0, curve="log1p")),
    Variable("surface_solar_radiation_downwards", "ssrd", "J m**-2", "accum", RADIATION),
    Variable("surface_thermal_radiation_downwards", "strd", "J m**-2", "accum", RADIATION),
    Variable("skin_temperature", "skt", "K"),
    Variable("volumetric_soil_water_layer_1", "swvl1", "m**3 m**-3", over="land"),
)
"""The seventeen variables that are learnt by default."""

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
    """Whether a variable is known to be constant in time.

    Args:
        short_name: Its name in files.
    """
    return short_name in KNOWN and KNOWN[short_name].static


def describe(short_name: str, long_name: str = "", units: str = "") -> Variable:
    """The description of a variable; an unknown one is learnt without a transform.

    Args:
        short_name: Its name in files.
        long_name: Its long name in files.
        units: Its units in files.

    Raises:
        ValueError: The units in files differ from those that its transform needs.
    """
    if short_name not in KNOWN:
        return Variable(long_name or short_name, short_name, units or "1")
    known = KNOWN[short_name]
    if units and known.transform.needs_units and _normalise(units) != _normalise(known.units):
        raise ValueError(
            f"The files give {short_name} ({known.name}) in {units!r}, ERA5 in {known.units!r}: convert it back, as "
            "its transform would be wrong, or leave it out of `variables`."
        )
    return known


def choose(wanted: Iterable[str], available: Iterable[str], changing: Iterable[str]) -> list[str]:
    """The short names of requested variables.

    Args:
        wanted: Long names, as in requests, or short ones, as in files.
        available: Short names of all variables in the files.
        changing: Those of them that change with time.

    Raises:
        ValueError: A variable is missing, is requested twice, or does not change with time.
    """
    found, changing, chosen = sorted(available), set(changing), []
    for name in wanted:
        short_name = LONG_NAMES.get(name, name)
        if short_name not in found:
            hint = nearest(name, [*found, *(n for n, s in LONG_NAMES.items() if s in found)])
            raise ValueError(f"The files have no variable {name!r}{hint}. They have: {', '.join(found)}.")
        if short_name not in changing:
            raise ValueError(f"{name!r} does not change with time, so there is nothing to learn: leave it out.")
        if short_name in chosen:
            raise ValueError(f"{name!r} is twice in `variables`: name it once.")
        chosen.append(short_name)
    if not chosen:
        raise ValueError(f"`variables` is empty: name some of {', '.join(found)}, or leave it out for the default.")
    return chosen


def _normalise(units: str) -> str:
    """Units without differences in notation: `J m**-2` and `J m^-2` are `Jm-2`."""
    return "".join(character for character in units if character not in " *^()")


def check_observed(variables: Sequence[Variable], observed: Iterable[bool]) -> None:
    """Raise if a variable has no values.

    Args:
        variables: V variables.
        observed: Which of them have values `[V]`.
    """
    for variable, has_values in zip(variables, observed, strict=True):
        if not has_values:
            raise ValueError(
                f"{variable.short_name} ({variable.name}) has no values at all, only NaN, at the chosen hours and "
                "locations: leave it out of `variables`, or choose others."
            )
