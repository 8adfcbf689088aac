"""Scaling gives mean 0 and variance 1 to what is observed, and has an inverse."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from datamodules.era5.scaling import Scaling
from datamodules.era5.variables import KNOWN

VARIABLES = [KNOWN[name] for name in ("t2m", "sp", "tp", "tcc", "blh")]


@st.composite
def weather(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """Plausible values with gaps, everything observed somewhere."""
    num_series, num_hours = draw(st.integers(1, 4)), draw(st.integers(2, 12))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**30)))
    noise = torch.rand(num_series, num_hours, len(VARIABLES), generator=generator, dtype=torch.float64)
    low = torch.tensor([260.0, 90_000, 0, 0, 50])
    values = low + torch.tensor([30.0, 5000, 0.01, 1, 1000]) * noise
    values[..., 1] -= 2000 * torch.arange(num_series)[:, None]
    mask = torch.rand(values.shape, generator=generator) < 0.8
    mask[0, :2] = True
    return values.where(mask, torch.nan), mask


@given(weather())
def test_observed_values_have_mean_0_and_variance_1(data: tuple[Tensor, Tensor]) -> None:
    values, mask = data
    scaled = Scaling.fit(VARIABLES, values, mask).to_model(values)
    assert torch.equal(scaled.isnan(), ~mask)
    for number in range(len(VARIABLES)):
        seen = scaled[..., number][mask[..., number]]
        assert seen.mean().item() == pytest.approx(0, abs=1e-8)
        assert seen.square().mean().item() == pytest.approx(1, abs=1e-6)
    for row, seen in zip(scaled[..., 1], mask[..., 1], strict=True):  # surface pressure: at each location
        assert not seen.any() or row[seen].mean().item() == pytest.approx(0, abs=1e-7)


@given(weather(), st.integers(0, 3))
def test_the_way_back(data: tuple[Tensor, Tensor], num_samples: int) -> None:
    values, mask = data
    scaling = Scaling.fit(VARIABLES, values, mask)
    series = torch.arange(len(values)).flip(0)
    scaled = scaling.to_model(values)[series].expand(*[2] * num_samples, *values.shape)
    back = scaling.to_physical(scaled, series)
    assert back.dtype == torch.float64
    torch.testing.assert_close(back, values[series].expand_as(back), equal_nan=True, rtol=1e-9, atol=1e-12)


@given(weather(), st.floats(-1e30, 1e30))
def test_what_is_masked_does_not_count(data: tuple[Tensor, Tensor], junk: float) -> None:
    values, mask = data
    clean, dirty = (Scaling.fit(VARIABLES, values.where(mask, filler), mask) for filler in (0.0, junk))
    assert torch.equal(clean.mean, dirty.mean)
    assert torch.equal(clean.deviation, dirty.deviation)


def test_constants_are_only_shifted() -> None:
    values = torch.full((2, 5, 5), 0.4)
    values[..., 0] = 280.123
    scaling = Scaling.fit(VARIABLES, values, torch.ones_like(values, dtype=torch.bool))
    assert torch.equal(scaling.deviation, torch.ones(5, dtype=torch.float64))
    torch.testing.assert_close(scaling.to_model(values), torch.zeros(2, 5, 5, dtype=torch.float64))
    torch.testing.assert_close(scaling.to_model(values + 1)[..., 0], torch.ones(2, 5, dtype=torch.float64))


def test_a_variable_that_is_never_observed() -> None:
    values, mask = torch.rand(2, 5, 5), torch.ones(2, 5, 5, dtype=torch.bool)
    mask[..., 2] = False
    with pytest.raises(ValueError, match=r"No value of tp is observed in the training hours of the first task"):
        Scaling.fit(VARIABLES, values, mask)
