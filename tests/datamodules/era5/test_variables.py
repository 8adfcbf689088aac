"""Transforms have inverses, and variables are known by both names."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from datamodules.era5.variables import (
    DEFAULT_VARIABLES,
    KNOWN,
    LONG_NAMES,
    Transform,
    Variable,
    choose,
    describe,
    is_static,
)


def transforms() -> st.SearchStrategy[Transform]:
    return st.sampled_from([variable.transform for variable in KNOWN.values()])


@given(transforms(), st.lists(st.floats(-1e4, 1e4), min_size=1))
def test_back_and_forth_is_the_nearest_possible_value(transform: Transform, values: list[float]) -> None:
    given_values = torch.tensor(values, dtype=torch.float64)
    low = -torch.inf if transform.low is None else transform.low / transform.factor
    high = torch.inf if transform.high is None else transform.high / transform.factor
    there = transform.to_model(given_values)
    assert there.isfinite().all()
    torch.testing.assert_close(transform.to_physical(there), given_values.clamp(low, high), rtol=1e-9, atol=1e-9)


@given(transforms(), st.lists(st.floats(-20, 20), min_size=2))
def test_whatever_a_model_makes_up_is_possible_and_in_order(transform: Transform, values: list[float]) -> None:
    made_up = torch.tensor(sorted(values), dtype=torch.float64)
    physical = transform.to_physical(made_up) * transform.factor
    assert (physical.diff() >= 0).all()
    if transform.low is not None:
        assert physical.min() >= transform.low - 1e-12
    if transform.high is not None:
        assert physical.max() <= transform.high


def test_the_transforms_are_those_we_say() -> None:
    def there(name: str, value: float) -> float:
        return float(KNOWN[name].transform.to_model(torch.tensor(value, dtype=torch.float64)))

    assert there("tp", 0.001 * (torch.e - 1)) == pytest.approx(1)
    assert there("tp", -1e-9) == 0
    assert there("cape", torch.e - 1) == pytest.approx(1)
    assert there("blh", torch.e) == pytest.approx(1)
    assert there("ssrd", 3600.0) == there("strd", 3600.0) == pytest.approx(1)
    assert there("ssrd", -1.0) == 0
    assert there("tcc", 0.3) == pytest.approx(0.3)
    assert there("t2m", 280.0) == 280
    assert torch.isnan(KNOWN["tp"].transform.to_model(torch.tensor(torch.nan)))


def test_seventeen_variables() -> None:
    assert len(DEFAULT_VARIABLES) == 17
    assert len({variable.short_name for variable in KNOWN.values()}) == len(KNOWN) == len(LONG_NAMES)
    assert [v.short_name for v in DEFAULT_VARIABLES if v.step_type == "accum"] == ["tp", "ssrd", "strd"]
    assert [v.short_name for v in KNOWN.values() if v.per_location] == ["sp"]
    assert is_static("lsm")
    assert not is_static("t2m")


def test_names_of_both_kinds() -> None:
    there = ["odd", "tp", "t2m", "z"]
    assert choose(["2m_temperature", "tp", "odd"], there, there) == ["t2m", "tp", "odd"]


def test_a_variable_that_nobody_knows_is_learnt_as_it_is() -> None:
    assert describe("odd", "Oddness", "odd**2") == Variable("Oddness", "odd", "odd**2")
    assert describe("odd") == Variable("odd", "odd", "1")
    assert describe("tp", units="m") is describe("tp") is KNOWN["tp"]
    assert describe("ssrd", units="J m^-2") is KNOWN["ssrd"]
    assert describe("tcc", units="1") is KNOWN["tcc"]  # whatever they are called, shares are shares
