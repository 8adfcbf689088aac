"""Laws of observed times: what the nodes of intervals integrate exactly, and what a longer horizon keeps."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gpvae.vae.observed_times import MAX_NODES, ObservedTimes, stretched

ORIGIN, LENGTH, NUM_INTERVALS = 10.0, 48.0, 8
instants = st.lists(st.floats(ORIGIN, ORIGIN + LENGTH), min_size=1, max_size=40)


def tensor(values: list[float] | float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def observed(times: list[float], length: float = LENGTH) -> ObservedTimes:
    nothing = torch.zeros(3, NUM_INTERVALS, dtype=torch.float64)
    return ObservedTimes(tensor(ORIGIN), tensor(length), nothing).including(tensor(times))


def integral(times: ObservedTimes, degree: int) -> Tensor:
    """Of a polynomial over all nodes, with the number of times as weights."""
    return (times.at_nodes(times.moments[0]) * (times.nodes - ORIGIN - LENGTH / 2) ** degree).sum()


@given(instants)
def test_parabolas_are_integrated_exactly(values: list[float]) -> None:
    """Whatever the times."""
    times = observed(values)
    for degree in (0, 1, 2):
        expected = ((tensor(values) - ORIGIN - LENGTH / 2) ** degree).sum()
        torch.testing.assert_close(integral(times, degree), expected, atol=1e-6, rtol=1e-6)


@given(
    st.lists(st.sampled_from(range(NUM_INTERVALS)), min_size=1, max_size=8, unique=True),
    st.integers(1, MAX_NODES),
    st.floats(0.01, 0.05),
)
def test_evenly_spaced_times_are_the_nodes(intervals: list[int], number: int, spacing: float) -> None:
    width = LENGTH / NUM_INTERVALS
    times = [ORIGIN + width * (i + 0.1 + j * spacing) for i in sorted(intervals) for j in range(number)]
    torch.testing.assert_close(observed(times).nodes, tensor(times), atol=1e-6, rtol=0)


@given(instants)
def test_weights_keep_their_sum(values: list[float]) -> None:
    times = observed(values)
    weights = torch.arange(1.0, len(values) + 1, dtype=torch.float64)
    torch.testing.assert_close(times.at_nodes(times.sums(tensor(values), weights)).sum(), weights.sum())


@given(instants, instants)
def test_times_may_come_in_parts(first: list[float], second: list[float]) -> None:
    torch.testing.assert_close(observed(first).including(tensor(second)).moments, observed(first + second).moments)


@given(instants, st.sampled_from([1, 2, 4]))
def test_a_longer_horizon_keeps_times_and_weights(values: list[float], factor: int) -> None:
    inside = [time for time in values if time < ORIGIN + LENGTH]
    times, longer = observed(inside), observed(inside, factor * LENGTH)
    weights = torch.arange(1.0, len(inside) + 1, dtype=torch.float64)
    torch.testing.assert_close(times.stretched(longer.length).moments, longer.moments)
    kept = stretched(times.sums(tensor(inside), weights), times.length, longer.length)
    torch.testing.assert_close(kept, longer.sums(tensor(inside), weights))


def test_a_horizon_without_extent_has_its_origin_as_nodes() -> None:
    times = observed([ORIGIN, ORIGIN], length=0.0)
    assert times.nodes.tolist() == [ORIGIN, ORIGIN]
