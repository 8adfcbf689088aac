"""Streams that grow: tasks, held-out points and scale depend on nothing that comes later."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from datamodules import GrowingStream
from datamodules.splits import hold_out, task_ends


class Readings(GrowingStream):
    """Points that are given."""

    input_dim = 1

    def __init__(self, x: Tensor, y: Tensor, **options: Any) -> None:
        super().__init__(**options)
        self.points = x, y

    def read(self) -> tuple[Tensor, Tensor]:
        return self.points


def stream(x: Tensor, y: Tensor | None = None, **options: Any) -> Readings:
    made = Readings(x.reshape(len(x), -1), torch.sin(x.reshape(len(x), -1)[:, 0]) if y is None else y, **options)
    made.setup()
    return made


TIMES = torch.linspace(0.0, 20.0, 95, dtype=torch.float64) ** 1.3


@pytest.mark.parametrize("options", [{"points_per_task": 20}, {"extent_per_task": 11.0}], ids=str)
def test_more_points_leave_earlier_tasks_as_they_are(options: dict[str, Any]) -> None:
    whole = stream(TIMES, **options)
    for count in (45, 60, 95):
        part = stream(TIMES[torch.randperm(count)], **options)  # in any order
        assert 1 <= part.num_tasks <= whole.num_tasks
        for one, other in zip(part.tasks, whole.tasks, strict=False):
            assert all(torch.equal(getattr(one, name), getattr(other, name)) for name in vars(one))
        assert part.identity()["points of task"] == whole.identity()["points of task"][: part.num_tasks]


@given(st.lists(st.floats(0, 100), min_size=2, max_size=60), st.integers(1, 59), st.floats(0.5, 30))
def test_ends_of_tasks_are_those_of_any_longer_stream(values: list[float], count: int, extent: float) -> None:
    keys = torch.tensor(sorted(values), dtype=torch.float64)
    for options in ((3, None), (3, extent)):
        ends, earlier = task_ends(keys, *options), task_ends(keys[:count], *options)
        assert earlier == ends[: len(earlier)]
        assert all(end - begin >= 2 for begin, end in zip([0, *ends], ends, strict=False))


@given(st.integers(2, 200), st.floats(0.01, 0.99), st.integers(0, 5))
def test_some_points_of_every_task_are_held_out_and_some_are_not(count: int, share: float, task: int) -> None:
    held_out = hold_out(count, share, 3, task)
    assert 0 < held_out.sum() < count
    assert abs(held_out.sum() - share * count) <= 1


def test_the_first_task_sets_the_scale() -> None:
    made = stream(TIMES, points_per_task=20)
    first = made.tasks[0]
    assert (first.x_train.min(), first.x_train.max()) == (0, 1)
    assert first.y_train.mean() == pytest.approx(0, abs=1e-12)
    assert first.y_train.std(correction=0) == pytest.approx(1)
    assert made.tasks[1].x_train.min() > 1
    counts = stream(TIMES, torch.arange(95.0, dtype=torch.float64), points_per_task=20, standardise=False)
    assert counts.tasks[0].y_train.max() == counts.tasks[0].y_train.round().max()


def test_predictions_carry_inputs_and_targets_bit_for_bit() -> None:
    y = torch.cos(TIMES) * 7.3 + 1e5
    made = stream(TIMES, y, points_per_task=20)
    (batch,) = made.test_loader(2, 0, 1)
    prediction = {"x": batch.x, "y": batch.y, "mean": batch.y, "stddev": torch.ones_like(batch.y), "index": batch.index}
    physical = made.to_physical(prediction, 2)
    held_out = torch.from_numpy(hold_out(20, 0.1, 0, 2))
    assert torch.equal(physical["x"][:, 0], TIMES[40:60][held_out])
    assert torch.equal(physical["y"], y[40:60][held_out])
    assert torch.allclose(physical["mean"], physical["y"], rtol=1e-14)
    deviation = y[:20][~torch.from_numpy(hold_out(20, 0.1, 0, 0))].std(correction=0)
    assert torch.allclose(physical["stddev"], deviation.expand(2), rtol=1e-14)


def test_waiting_points_are_told(caplog: pytest.LogCaptureFixture) -> None:
    stream(TIMES, points_per_task=20)
    assert "make 4 whole task(s) of 20 points; the last 15 of 95 points wait for more" in caplog.text
    stream(TIMES, points_per_task=20, num_tasks=2)
    assert "the last 55 of 95 points come after them and are not used" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points_per_task": 96}, "The 95 points make less than a whole task of 96 points"),
        ({"points_per_task": 20, "num_tasks": 5}, "The 95 points make 4 of 5 tasks of 20 points"),
        ({"extent_per_task": 1e3}, "less than a whole task of extent 1000"),
        ({"extent_per_task": 0.0}, "extent_per_task is 0.0: it must be a length above 0"),
        ({"points_per_task": 1}, "points_per_task is 1: it must be 2 or more"),
        ({"test_share": 1.0}, "test_share is 1.0: it must be between 0 and 1"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stream(TIMES, **options)


def test_a_first_task_without_a_scale_is_refused() -> None:
    with pytest.raises(ValueError, match=r"have the same target, which sets no scale: .* set standardise to false"):
        stream(TIMES, torch.ones(95, dtype=torch.float64), points_per_task=20)
    with pytest.raises(ValueError, match=r"have the same input, which sets no scale: make tasks larger\.$"):
        stream(torch.zeros(95, dtype=torch.float64), TIMES, points_per_task=20, standardise=False)
