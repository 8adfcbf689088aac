"""Units: every notation of a unit is the same unit, conversions obey their laws, and nothing is ever relabelled."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodules.era5.units import Conversion, UnitError, conversion, parse
from datamodules.era5.variables import KNOWN

SAME = [
    ("m s**-1", "m s-1", "m/s", "m s^-1", "m.s-1", "m·s⁻¹", "metres per second", "meter second-1", "(m)/(s)"),
    ("J m**-2", "J m-2", "J/m²", "J/m^2", "J m**-2 s s**-1", "W s m-2", "N/m", "joules per m2", "1e-3 kJ/m2"),
    ("K", "kelvin", "degK", "degrees Kelvin", "Kelvin"),
    ("degC", "°C", "C", "Celsius", "celsius", "degrees_celsius", "degrees Celsius", "deg C", "degree_C", "℃"),
    ("hPa", "mbar", "mb", "millibars", "100 Pa", "hectopascal"),
    ("kt", "kts", "knots", "kn", "Knots"),
    ("1", "(0 - 1)", "(0-1)", "~", "-", "fraction", "m**3 m**-3", "kg/kg"),
    ("%", "percent", "0.01"),
    ("m", "m of water equivalent", "m w.e.", "m of water"),
    ("mm/h", "mm hr-1", "mm per hour", "mm/hours"),
]
SIMPLE = ["K", "degC", "degF", "Pa", "hPa", "mmHg", "m", "mm", "in", "m s-1", "knots", "km/h", "mph", "J m-2", "kWh/m2"]
MORE = ["W m-2", "kg m-2", "kg m-2 s-1", "mm/day", "%", "okta", "1", "J kg-1", "m2 s-2", "g/kg", "degrees", "rad"]
units = st.sampled_from(SIMPLE + MORE)


@pytest.mark.parametrize("notations", SAME, ids=lambda notations: notations[0])
def test_notations_of_one_unit(notations: tuple[str, ...]) -> None:
    first = parse(notations[0])
    for notation in notations:
        unit = parse(notation)
        assert unit.powers == first.powers
        assert unit.scale == pytest.approx(first.scale, rel=1e-14)
        assert unit.offset == first.offset


@pytest.mark.parametrize(
    ("value", "source", "expected", "target"),
    [
        (20.0, "degC", 293.15, "K"),
        (212.0, "degF", 100.0, "degC"),
        (-40.0, "degF", -40.0, "degC"),
        (1013.25, "hPa", 1.0, "atm"),
        (10.0, "m/s", 36.0, "km/h"),
        (1.0, "knot", 1.852, "km/h"),
        (8.0, "oktas", 100.0, "%"),
        (1.0, "kWh m-2", 3.6, "MJ m-2"),
        (3.0, "degC/day", 3.0, "K/day"),  # a difference has no origin
    ],
)
def test_known_values(value: float, source: str, expected: float, target: str) -> None:
    scale, offset = conversion(source, target)
    assert scale * value + offset == pytest.approx(expected, rel=1e-6)


def test_sums_and_means_over_a_period() -> None:
    assert conversion("W m-2", "J m-2", period=1) == (3600, 0)
    assert conversion("W m-2", "kJ m-2", period=3).scale == pytest.approx(10.8)
    assert conversion("J m-2", "W m-2", period=24).scale == pytest.approx(1 / 86400)
    assert conversion("mm/day", "mm", period=6).scale == pytest.approx(0.25)
    with pytest.raises(UnitError, match="'W m-2' cannot be converted to 'J m-2'"):
        conversion("W m-2", "J m-2")


def test_a_kilogram_of_water_is_a_millimetre() -> None:
    assert conversion("kg m-2", "mm", water=True).scale == pytest.approx(1)
    assert conversion("m", "kg m-2", water=True).scale == pytest.approx(1000)
    assert conversion("kg m-2 s-1", "mm", period=1, water=True).scale == pytest.approx(3600)
    with pytest.raises(UnitError, match="cannot be converted"):
        conversion("kg m-2", "mm")


@given(units, units, st.floats(-1e6, 1e6), st.sampled_from([None, 1.0, 3.0, 24.0]), st.booleans())
def test_there_and_back(source: str, target: str, value: float, period: float | None, water: bool) -> None:
    try:
        there = conversion(source, target, period=period, water=water)
    except UnitError:
        with pytest.raises(UnitError, match="cannot be converted"):
            conversion(target, source, period=period, water=water)
        return
    back = conversion(target, source, period=period, water=water)
    assert there.scale > 0
    result = back.scale * (there.scale * value + there.offset) + back.offset
    assert math.isclose(result, value, rel_tol=1e-12, abs_tol=1e-9 * max(1, abs(back.offset)))


KINDS = [[unit for unit in SIMPLE + MORE if parse(unit).powers == powers] for powers in
         dict.fromkeys(parse(unit).powers for unit in SIMPLE + MORE)]  # fmt: skip
triples = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(*[st.sampled_from(kind)] * 3))


@given(triples, st.floats(-1e3, 1e3))
def test_a_way_round_makes_no_difference(triple: tuple[str, str, str], value: float) -> None:
    first, second, third = triple
    one, two, direct = conversion(first, second), conversion(second, third), conversion(first, third)
    result = two.scale * (one.scale * value + one.offset) + two.offset
    assert math.isclose(result, direct.scale * value + direct.offset, rel_tol=1e-9, abs_tol=1e-9)


@given(units, st.floats(0.5, 24), st.booleans())
def test_no_conversion_from_a_unit_to_itself(unit: str, period: float, water: bool) -> None:
    assert conversion(unit, unit, period=period, water=water) == Conversion()


@pytest.mark.parametrize("text", ["odd", "furlong", "m**", "m^2.5", "/", "()", "K (", "pA", "m 1e999"])
def test_nonsense(text: str) -> None:
    with pytest.raises(UnitError, match="is not a known unit"):
        parse(text)


@given(st.text(max_size=12))
def test_any_text_is_a_unit_or_is_refused_in_words(text: str) -> None:
    try:
        unit = parse(text)
    except UnitError as error:
        assert repr(text) in str(error)  # noqa: PT017
    else:
        assert 0 < unit.scale < math.inf


def test_units_of_era5_are_known() -> None:
    for variable in KNOWN.values():
        assert variable.conversion(variable.units, variable.units) == Conversion()
