"""Readable units."""

from gpvae.plotting.units import readable_units


def test_units_that_people_read() -> None:
    assert readable_units("m s**-1", 10.0) == (1.0, "m s⁻¹")
    assert readable_units("Pa", 1e5) == (0.01, "hPa")
    assert readable_units("m", 0.003) == (1000.0, "mm")
    assert readable_units("m", 800.0) == (1.0, "m")  # a height
    assert readable_units("J m**-2", 2e6) == (1e-6, "MJ m⁻²")
    assert readable_units("(0 - 1)", 1.0) == (1.0, "1")
    assert readable_units("m**3 m**-3", 0.3) == (1.0, "m³ m⁻³")
    assert readable_units("W m-2", 300.0) == (1.0, "W m⁻²")
    assert readable_units("degC", 20.0) == (1.0, "°C")
