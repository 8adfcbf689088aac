"""Units as people read them: m s**-1 as m s⁻¹, and multiples that make numbers short."""

import re

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_POWER = re.compile(r"(?:\*\*|\^)(-?\d+)")
#: Units, the multiple that is drawn instead, how many of it there are, and the range of values where it is shorter.
_MULTIPLES = (
    ("Pa", "hPa", 1e-2, 1e4, float("inf")),
    ("J m**-2", "MJ m**-2", 1e-6, 1e4, float("inf")),
    ("m", "mm", 1e3, 0.0, 0.5),
)


def readable_units(units: str, largest: float) -> tuple[float, str]:
    """What to multiply values by before they are drawn, and how to write the units they then have.

    Args:
        units: Units as in files, such as `J m**-2`.
        largest: The largest size of a value.
    """
    for written, multiple, factor, least, most in _MULTIPLES:
        if units == written and least <= largest < most:
            return factor, _typeset(multiple)
    return 1.0, _typeset(units)


def _typeset(units: str) -> str:
    """Powers as superscripts; no units, as for shares, become 1."""
    if units.replace(" ", "") in ("(0-1)", "~", ""):
        return "1"
    return _POWER.sub(lambda power: power[1].translate(_SUPERSCRIPTS), units)
