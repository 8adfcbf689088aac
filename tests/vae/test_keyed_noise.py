"""Random numbers that depend on what they are for."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from gpvae.vae.keyed_noise import Draws


@given(st.integers(0, 2**40), st.permutations(range(5)), st.integers(1, 5))
def test_a_series_gets_the_same_numbers_whoever_else_is_in_the_batch(seed: int, order: list[int], size: int) -> None:
    draws = Draws(seed, "train", 3)
    whole = draws.normal(torch.arange(5), 2, 3)
    for batch in torch.tensor(order).split(size):
        assert torch.equal(draws.normal(batch, 2, 3), whole[batch])


def test_other_seeds_occasions_purposes_and_series_have_other_numbers_and_all_are_normal() -> None:
    series = torch.arange(40)
    drawn = [
        Draws(seed, occasion, step).normal(series, 50, purpose=purpose)
        for seed in (0, 1)
        for occasion in ("train", "evaluate")
        for step in (0, 1)
        for purpose in ("", "blur")
    ]
    numbers = torch.stack(drawn).flatten()
    assert len(numbers.unique()) == len(numbers)
    assert abs(numbers.mean()) < 4 / len(numbers) ** 0.5
    assert abs(numbers.var() - 1) < 4 * (2 / len(numbers)) ** 0.5
    correlation = torch.corrcoef(torch.stack(drawn).flatten(0, 1)).triu(1)
    assert correlation.abs().max() < 0.75


def test_numbers_do_not_depend_on_the_floating_point_type() -> None:
    draws, series = Draws(0, "train", 1), torch.arange(3)
    torch.testing.assert_close(draws.normal(series, 7, dtype=torch.float32), draws.normal(series, 7).float())


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["steps", "series", "positions"])
def test_neighbours_are_independent(axis: int) -> None:
    numbers = torch.stack([Draws(0, "train", step).normal(torch.arange(50), 40) for step in range(50)])
    size = numbers.shape[axis] - 1
    first, second = numbers.narrow(axis, 0, size), numbers.narrow(axis, 1, size)
    for of in (lambda value: value, lambda value: (value**2 - 1) / 2**0.5):
        assert abs(float((of(first) * of(second)).mean())) < 4 / first.numel() ** 0.5


def test_all_have_the_distribution_of_normal_numbers() -> None:
    numbers = Draws(3, "evaluate").normal(torch.arange(100), 1000).flatten()
    assert kstest(numbers.numpy(), "norm").pvalue > 0.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_rarest_bits_give_finite_draws(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """One draw in millions has them."""
    extremes = torch.tensor([-(2**23), -(2**23) + 1, -1, 0, 1, 2**23 - 2, 2**23 - 1], dtype=torch.int32)
    bits = torch.cartesian_prod(extremes, extremes)[None]
    monkeypatch.setattr(Draws, "_bits", lambda *_: bits)
    drawn = Draws(0).normal(torch.tensor([0]), 2 * bits.shape[1], dtype=dtype)
    assert bool(torch.isfinite(drawn).all())
    assert 5.7 < float(drawn.abs().max()) < 5.8
