"""The variables of ERA5: their names, units and transforms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from datamodules.era5.units import Conversion, UnitError, conversion, same_dimension
from gpvae.utils.spelling import nearest


@dataclass(frozen=True)
class Transform:
    """A factor, an offset, bounds and a curve; monotone, so quantiles stay quantiles.

    The inverse respects the bounds: a Gaussian may put some mass on negative rain, but no rain is negative.

    Args:
        factor: The factor that values in files are multiplied by.
        low: The lower bound, after the factor; values below it come from rounding.
        high: The upper bound, after the factor.
        curve: "linear" applies no curve; "log" and "log1p" take that logarithm.
        offset: What is added after the factor, before the bounds.
    """

    factor: float = 1.0
    low: float | None = None
    high: float | None = None
    curve: Literal["linear", "log", "log1p"] = "linear"

    offset: float = 0.0

    def after(self, conversion: Conversion) -> "Transform":
        """This transform for values in other units, from which a conversion leads to those that it is meant for.

        Args:
            conversion: The conversion; a positive factor and an offset.
        """
        if self == IDENTITY:  # valid in any units
            return self
        offset = conversion.offset * self.factor + self.offset
        return replace(self, factor=conversion.scale * self.factor, offset=offset)

    def to_model(self, values: Tensor) -> Tensor:
        """Values on the scale of the model.

        Args:
            values: In the units of files; NaN stays NaN.
        """
        values = values * self.factor
        values = self._clamp(values + self.offset if self.offset else values)
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
        values = self._clamp(values)
        return (values - self.offset if self.offset else values) / self.factor

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
        units: The units in files, and of everything we write; those of ERA5 unless the files state others.
        step_type: Whether it holds at the time ("instant"), or is a sum, a maximum or a mean over the period before.
        transform: The transform to the scale on which it is learnt.
        over: Where it is defined; elsewhere its values are masked, if the files have a land-sea mask.
        per_location: Whether each location has its own mean, as for variables that depend on height.
        static: Whether it is constant in time, so that there is nothing to learn.
        period: The hours of a sum, maximum or mean.
        water: Whether it is an amount of water, of which 1 kg m-2 is 1 mm.
        standard_name: Its standard name in files, for variables that are not of ERA5.
    """

    name: str
    short_name: str
    units: str
    step_type: StepType = "instant"
    transform: Transform = IDENTITY
    over: Literal["everywhere", "land", "sea"] = "everywhere"
    per_location: bool = False
    static: bool = False
    period: float = 1.0
    water: bool = False
    standard_name: str = ""

    def conversion(self, source: str, target: str, period: float = 1.0) -> Conversion:
        """The conversion from one unit to another.

        Args:
            source: The unit that values have.
            target: The unit that they are to have.
            period: The hours of a sum, maximum or mean.

        Raises:
            UnitError: One of them is unknown, or they measure different things.
        """
        over_time = self.step_type in ("accum", "avg")
        return conversion(source, target, period=period if over_time else None, water=self.water)


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
    Variable("total_precipitation", "tp", "m", "accum", RAIN, water=True),
    Variable("total_cloud_cover", "tcc", "(0 - 1)", transform=COVER),
    Variable("low_cloud_cover", "lcc", "(0 - 1)", transform=COVER),
    Variable("total_column_water_vapour", "tcwv", "kg m**-2", water=True),
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
    Variable("convective_precipitation", "cp", "m", "accum", RAIN, water=True),
    Variable("large_scale_precipitation", "lsp", "m", "accum", RAIN, water=True),
    Variable("snowfall", "sf", "m of water equivalent", "accum", RAIN, water=True),
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

LEVEL = "@"  # between a name and its level, as in t@850

KNOWN = {variable.short_name: variable for variable in DEFAULT_VARIABLES + OTHER_VARIABLES}
LONG_NAMES = {variable.name: variable.short_name for variable in KNOWN.values()}


def is_static(short_name: str) -> bool:
    """Whether a variable is known to be constant in time.

    Args:
        short_name: Its name in files.
    """
    return short_name in KNOWN and KNOWN[short_name].static


def describe(
    short_name: str, long_name: str = "", units: str = "", *, period: float = 1.0, standard_name: str = ""
) -> Variable:
    """The description of a variable, in the units of the files; an unknown one is learnt without a transform.

    Args:
        short_name: Its name in files.
        long_name: Its long name in files.
        units: Its units in files; those of ERA5 if they state none.
        period: The hours from one time of the files to the next, over which sums, maxima and means are taken.
        standard_name: Its standard name in files.

    Raises:
        ValueError: The units in files cannot be converted to those of ERA5.
    """
    if short_name not in KNOWN:
        return Variable(long_name or short_name, short_name, units or "1", standard_name=standard_name)
    known = KNOWN[short_name]
    if known.step_type != "instant" and period != known.period:
        known = replace(known, period=period)
    if not units:
        return known
    try:
        to_known = known.conversion(units, known.units, period)
    except UnitError as error:
        raise ValueError(
            f"The files give {short_name} ({known.name}) in {units!r}, ERA5 in {known.units!r}: {error}. Correct its "
            "attribute `units`, or leave it out of `variables`."
        ) from error
    if to_known == Conversion() and same_dimension(units, known.units):  # another notation at most
        return known
    return replace(known, units=units, transform=known.transform.after(to_known), step_type=_step_type(known, units))


def _step_type(known: Variable, units: str) -> StepType:
    """Whether these units are of a sum or of a mean: J m-2 become W m-2 when they are divided by a time."""
    try:
        conversion(units, known.units, water=known.water)
    except UnitError:
        return "avg" if known.step_type == "accum" else "accum"
    return known.step_type


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
        short_name = name if name in found else LONG_NAMES.get(name, name)
        levels = [one for one in found if one.startswith(f"{short_name}{LEVEL}")]
        if short_name not in found and len(levels) == 1:
            short_name = levels[0]
        if short_name not in found and levels:
            raise ValueError(f"The files have {name!r} at several levels: name one of {', '.join(levels)}.")
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
