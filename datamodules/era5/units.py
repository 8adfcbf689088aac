"""Units as files state them, in the notation of UDUNITS, of ECMWF or of people, and conversions between them."""

import math
import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

Powers = tuple[tuple[str, int], ...]


class UnitError(ValueError):
    """Units that cannot be read, or cannot be converted into one another."""


@dataclass(frozen=True)
class Unit:
    """A unit: a value v in it is `scale · v + offset` in the base units kg, m, s, K, mol and rad.

    Args:
        scale: The factor.
        powers: The base units and their powers, in order.
        offset: The value of its zero in base units, as of °C.
    """

    scale: float = 1.0
    powers: Powers = ()
    offset: float = 0.0

    def __mul__(self, other: "Unit") -> "Unit":
        powers = dict(self.powers)
        for base, power in other.powers:
            powers[base] = powers.get(base, 0) + power
        return Unit(self.scale * other.scale, tuple(sorted((b, p) for b, p in powers.items() if p)))

    def __pow__(self, power: int) -> "Unit":
        if power == 1:
            return self
        return Unit(self.scale**power, tuple((b, p * power) for b, p in self.powers if power))


class Conversion(NamedTuple):
    """A change of units: `scale · v + offset`.

    Args:
        scale: The factor.
        offset: What is added then.
    """

    scale: float = 1.0
    offset: float = 0.0


_METRE, _GRAM, _SECOND, _KELVIN = (Unit(s, ((b, 1),)) for s, b in ((1, "m"), (1e-3, "kg"), (1, "s"), (1, "K")))
_NEWTON = Unit(1.0, (("kg", 1), ("m", 1), ("s", -2)))
_PASCAL, _JOULE = _NEWTON * _METRE**-2, _NEWTON * _METRE
_WATT = _JOULE * _SECOND**-1


def _times(factor: float, unit: Unit = Unit()) -> Unit:  # noqa: B008  # Unit is immutable
    return Unit(factor * unit.scale, unit.powers)


#: Units that take the prefixes below.
_PREFIXED = {
    "m": _METRE, "g": _GRAM, "s": _SECOND, "K": _KELVIN, "N": _NEWTON, "Pa": _PASCAL, "J": _JOULE, "W": _WATT,
    "metre": _METRE, "meter": _METRE, "gram": _GRAM, "pascal": _PASCAL, "joule": _JOULE, "watt": _WATT,
    "bar": _times(1e5, _PASCAL), "Wh": _times(3600, _JOULE), "mol": Unit(1.0, (("mol", 1),)),
}  # fmt: skip
_PREFIXES = {
    "n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1, "h": 1e2, "k": 1e3, "M": 1e6, "G": 1e9,
    "micro": 1e-6, "milli": 1e-3, "centi": 1e-2, "hecto": 1e2, "kilo": 1e3, "mega": 1e6,
}  # fmt: skip
_CELSIUS, _FAHRENHEIT = Unit(1.0, (("K", 1),), 273.15), Unit(5 / 9, (("K", 1),), 273.15 - 32 * 5 / 9)
_OTHERS = {
    "sec": _SECOND, "second": _SECOND, "min": _times(60, _SECOND), "minute": _times(60, _SECOND),
    "h": _times(3600, _SECOND), "hr": _times(3600, _SECOND), "hour": _times(3600, _SECOND),
    "d": _times(86400, _SECOND), "day": _times(86400, _SECOND),
    "kelvin": _KELVIN, "degK": _KELVIN, "degC": _CELSIUS, "°C": _CELSIUS, "℃": _CELSIUS, "C": _CELSIUS,
    "celsius": _CELSIUS, "degF": _FAHRENHEIT, "°F": _FAHRENHEIT, "F": _FAHRENHEIT, "fahrenheit": _FAHRENHEIT,
    "mb": _times(100, _PASCAL), "millibar": _times(100, _PASCAL), "atm": _times(101325, _PASCAL),
    "mmHg": _times(133.322387415, _PASCAL), "inHg": _times(3386.389, _PASCAL),
    "kn": _times(1852 / 3600, _METRE * _SECOND**-1), "kt": _times(1852 / 3600, _METRE * _SECOND**-1),
    "knot": _times(1852 / 3600, _METRE * _SECOND**-1), "mph": _times(0.44704, _METRE * _SECOND**-1),
    "kmh": _times(1 / 3.6, _METRE * _SECOND**-1), "kph": _times(1 / 3.6, _METRE * _SECOND**-1),
    "in": _times(0.0254, _METRE), "inch": _times(0.0254, _METRE), "inches": _times(0.0254, _METRE),
    "ft": _times(0.3048, _METRE), "foot": _times(0.3048, _METRE), "feet": _times(0.3048, _METRE),
    "mi": _times(1609.344, _METRE), "mile": _times(1609.344, _METRE), "gpm": _METRE,
    "rad": Unit(1.0, (("rad", 1),)), "deg": Unit(math.pi / 180, (("rad", 1),)),
    "degree": Unit(math.pi / 180, (("rad", 1),)), "°": Unit(math.pi / 180, (("rad", 1),)),
    "%": _times(1e-2), "percent": _times(1e-2), "okta": _times(1 / 8), "ppm": _times(1e-6), "ppb": _times(1e-9),
    "fraction": Unit(), "proportion": Unit(), "dimensionless": Unit(), "unitless": Unit(), "none": Unit(),
}  # fmt: skip
_DIMENSIONLESS = ("", "-", "~", "1", "0-1", "(0-1)", "[0-1]")
_WATER = re.compile(r"\s*(of\s+)?water(\s+equivalent)?|\s*w\.?\s?e\.?(?![a-z])", re.IGNORECASE)
_DEGREES = re.compile(r"deg(?:ree)?s?[\s_]*(C|F|K)(?:elsius|ahrenheit|elvin)?\b", re.IGNORECASE)
_ASCII = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_TOKEN = re.compile(r"\s*(?:([A-Za-zµμ°℃%]+)|((?:\*\*|\^)?[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|([*.·/()]))")


@cache
def parse(text: str) -> Unit:
    """The unit that a text states, such as `W m**-2`, `W m-2`, `W/m²`, `mm per day`, `degrees Celsius` or `%`.

    Args:
        text: The text.

    Raises:
        UnitError: It states none that is known here.
    """
    if text.replace(" ", "") in _DIMENSIONLESS:
        return Unit()
    plain = _WATER.sub("", text).translate(_ASCII)
    plain = re.sub(r"\bper\b", "/", _DEGREES.sub(lambda match: f"deg{match[1].upper()}", plain))
    tokens, end = [], 0
    while end < len(plain.rstrip()):
        token = _TOKEN.match(plain, end)
        if token is None:
            raise UnitError(f"{text!r} is not a known unit")
        tokens.append(token[0].strip())
        end = token.end()
    try:
        unit, rest = _product(tokens)
    except (KeyError, IndexError, ValueError, OverflowError) as error:
        raise UnitError(f"{text!r} is not a known unit") from error
    if rest or not 0 < unit.scale < math.inf:
        raise UnitError(f"{text!r} is not a known unit")
    return unit


def _product(tokens: list[str]) -> tuple[Unit, list[str]]:
    """The product at the start of tokens, and the tokens after it."""
    unit, sign = None, 1
    while tokens and tokens[0] != ")":
        if tokens[0] in "*.·/":
            sign, tokens = (-1 if tokens[0] == "/" else 1), tokens[1:]
        factor, tokens = _factor(tokens)
        factor = factor**sign
        unit, sign = factor if unit is None else unit * factor, 1
    if unit is None:
        raise ValueError
    return unit, tokens


def _factor(tokens: list[str]) -> tuple[Unit, list[str]]:
    first, tokens = tokens[0], tokens[1:]
    if first == "(":
        unit, tokens = _product(tokens)
        tokens = tokens[1:]
    elif first[0].isdigit():
        return _times(float(first)), tokens
    else:
        unit = _symbol(first)
    if tokens and tokens[0][-1].isdigit():
        return unit ** int(tokens[0].lstrip("*^")), tokens[1:]
    return unit, tokens


def _symbol(name: str) -> Unit:
    for known in (name, name.lower(), name.removesuffix("s"), name.lower().removesuffix("s")):
        if len(name) < 4 and known != name and name.lower() not in ("kts", "hrs"):
            continue  # case and plural matter in symbols: Pa is no pA
        if known in _OTHERS:
            return _OTHERS[known]
        if known in _PREFIXED:
            return _PREFIXED[known]
        for prefix, factor in _PREFIXES.items():
            if known.startswith(prefix) and known.removeprefix(prefix) in _PREFIXED:
                return _times(factor, _PREFIXED[known.removeprefix(prefix)])
    raise KeyError(name)


def conversion(source: str, target: str, *, period: float | None = None, water: bool = False) -> Conversion:
    """The conversion from one unit to another.

    Args:
        source: The unit that values have.
        target: The unit that they are to have.
        period: The hours over which values are summed or averaged: J m-2 and W m-2 then differ by so many seconds. Not
            given for values at a time.
        water: Whether values are amounts of water, of which 1 kg m-2 is 1 mm.

    Raises:
        UnitError: One of them is unknown, or they measure different things.
    """
    given, wanted = parse(source), parse(target)
    seconds = Unit() if period is None else Unit(3600 * period, (("s", 1),))
    density = Unit(1000.0, (("kg", 1), ("m", -3))) if water else Unit()
    for by_time, by_density in product((0, 1, -1), repeat=2):
        bridged = given if by_time == by_density == 0 else given * seconds**by_time * density**by_density
        if bridged.powers == wanted.powers:
            return Conversion(bridged.scale / wanted.scale, (bridged.offset - wanted.offset) / wanted.scale)
    raise UnitError(f"{source!r} cannot be converted to {target!r}")


def same_dimension(one: str, other: str) -> bool:
    """Whether two units measure the same, without a period or a density between them.

    Args:
        one: A unit.
        other: Another one.
    """
    return parse(one).powers == parse(other).powers
