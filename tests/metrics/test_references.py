"""References predict by what was seen before, as plain loops over the values do."""

import pytest
import torch
from torch import Tensor

from gpvae.metrics import Climatology, Persistence, Reference, RunningMean

HOURS_PER_MONTH = 100  # of a made-up calendar


def calendar(times: Tensor) -> tuple[Tensor, Tensor]:
    return times.long() % 24, times.long() // HOURS_PER_MONTH % 12 + 1


def tasks(num_tasks: int = 3, length: int = 80) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Two series of three variables; some hours, and some values, are missing."""
    rng = torch.Generator().manual_seed(0)
    found = []
    for task in range(num_tasks):
        times = torch.arange(task * length, (task + 1) * length, dtype=torch.float64)
        times = times[torch.rand(length, generator=rng) < 0.8]
        y, mask = torch.randn(2, len(times), 3, generator=rng), torch.rand(2, len(times), 3, generator=rng) < 0.9
        found.append((times, torch.where(mask, y, 0.0), mask))
    return found


def learnt(reference: Reference, num_tasks: int) -> Reference:
    for task in tasks()[:num_tasks]:
        reference.update(*task)
    return reference


def seen(num_tasks: int, series: int, variable: int) -> list[tuple[float, float]]:
    """(time, value) of all observed values."""
    return [
        (float(t), float(y[series, i, variable]))
        for times, y, mask in tasks()[:num_tasks]
        for i, t in enumerate(times)
        if mask[series, i, variable]
    ]


TIMES = torch.tensor([0.0, 0.5, 17.0, 79.0, 80.0, 123.0, 159.5, 170.0, 5000.0], dtype=torch.float64)


@pytest.mark.parametrize("num_tasks", [1, 2])
def test_persistence_is_the_last_value_before(num_tasks: int) -> None:
    found = learnt(Persistence(), num_tasks).predict(TIMES, torch.tensor([1, 0]))
    for b, series in enumerate((1, 0)):
        for v in range(3):
            for i, time in enumerate(TIMES.tolist()):
                before = [value for t, value in seen(num_tasks, series, v) if t < time]
                assert float(found[b, i, v]) == pytest.approx(before[-1] if before else 0.0)


def test_the_mean_is_that_of_all_values() -> None:
    found = learnt(RunningMean(), 2).predict(TIMES, torch.tensor([1]))
    for v in range(3):
        values = [value for _, value in seen(2, 1, v)]
        torch.testing.assert_close(found[0, :, v], torch.full((9,), sum(values) / len(values)).double())


@pytest.mark.parametrize("num_tasks", [1, 2, 3])
def test_climatology_is_the_mean_of_hour_and_month_drawn_to_that_of_the_hour(num_tasks: int) -> None:
    found = learnt(Climatology(calendar), num_tasks).predict(TIMES, torch.tensor([0, 1]))
    hours, months = calendar(TIMES)
    for series in range(2):
        for v in range(3):
            values = seen(num_tasks, series, v)
            mean = sum(value for _, value in values) / len(values)
            for i in range(len(TIMES)):
                at_hour = [(t, value) for t, value in values if t % 24 == hours[i]]
                by_hour = (sum(value for _, value in at_hour) + mean) / (len(at_hour) + 1)
                in_month = [value for t, value in at_hour if t // HOURS_PER_MONTH % 12 + 1 == months[i]]
                expected = (sum(in_month) + by_hour) / (len(in_month) + 1)
                assert float(found[series, i, v]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("reference", [RunningMean, Persistence, lambda: Climatology(calendar)])
def test_what_is_learnt_later_does_not_change_values_that_were_not_observed(reference: type[Reference]) -> None:
    """A masked value may be anything."""
    one, other = reference(), reference()
    for times, y, mask in tasks():
        one.update(times, y, mask)
        other.update(times, torch.where(mask, y, 99.0), mask)
    torch.testing.assert_close(one.predict(TIMES, torch.arange(2)), other.predict(TIMES, torch.arange(2)))
