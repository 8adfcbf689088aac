"""Readable units: m s⁻¹ for m s**-1, and multiples that keep numbers short; readable locations."""

import re

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_POWER = re.compile(r"(?:\*\*|\^|(?<=[A-Za-z]))(-?\d+)")
#: Units, the multiple drawn instead, its conversion factor, and the range of values for which it is used.
_MULTIPLES = (
    ("Pa", "hPa", 1e-2, 1e4, float("inf")),
    ("J m**-2", "MJ m**-2", 1e-6, 1e4, float("inf")),
    ("m", "mm", 1e3, 0.0, 0.5),
)


def readable_units(units: str, largest: float) -> tuple[float, str]:
    """The factor by which values are multiplied to be drawn, and their units then.

    Args:
        units: Units as in files, such as `J m**-2`.
        largest: The largest absolute value.
    """
    for original, multiple, factor, low, high in _MULTIPLES:
        if units == original and low <= largest < high:
            return factor, _typeset(multiple)
    return 1.0, _typeset(units)


def readable_location(latitude: float, longitude: float) -> str:
    """A location such as 51.5° N, 0.25° W.

    Args:
        latitude: Degrees north.
        longitude: Degrees east, in any range.
    """
    longitude = (longitude + 180) % 360 - 180
    return f"{abs(latitude):g}° {'N' if latitude >= 0 else 'S'}, {abs(longitude):g}° {'E' if longitude >= 0 else 'W'}"


def _typeset(units: str) -> str:
    """Powers as superscripts, degrees by their sign; 1 for dimensionless quantities."""
    if units.replace(" ", "") in ("(0-1)", "~", ""):
        return "1"
    if units in ("degC", "degF"):
        return f"°{units[-1]}"
    return _POWER.sub(lambda power: power[1].translate(_SUPERSCRIPTS), units)
