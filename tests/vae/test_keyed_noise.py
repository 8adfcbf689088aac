"""Random numbers that depend on what they are for."""

import torch
from hypothesis import given
from hypothesis import strategies as st

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


def test_choices_are_common_to_all_series() -> None:
    first, second = (Draws(0, "train", step).choices(256, 64) for step in (1, 2))
    assert torch.equal(first, Draws(0, "train", 1).choices(256, 64))
    assert not torch.equal(first, second)
    assert 0 <= int(first.min()) <= int(first.max()) < 256
