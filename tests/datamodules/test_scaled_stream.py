"""What sets the scale of a stream: all data, or nothing but the first task's training points."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.datamodules.streams import Made, assert_same_tasks


def points(num: int, seed: int, dimensions: int = 1) -> tuple[Tensor, Tensor]:
    """Inputs in order of their first dimension, and targets."""
    rng = torch.Generator().manual_seed(seed)
    x = torch.rand(num, dimensions, generator=rng, dtype=torch.float64)
    x[:, 0] = x[:, 0].cumsum(0)
    return x, torch.randn(num, generator=rng, dtype=torch.float64)


def later_changed(x: Tensor, y: Tensor, after: float) -> tuple[Tensor, Tensor]:
    """The same points, but with all that comes after a time stretched and shifted."""
    later = x[:, 0] > after
    x, y = x.clone(), y.clone()
    x[later] = after + 100 * (x[later] - after) + torch.arange(x.shape[1])
    y[later] = 1000 - 50 * y[later]
    return x, y


@given(st.integers(0, 1000), st.integers(1, 3), st.integers(2, 5))
def test_what_comes_later_changes_nothing_in_the_first_task(seed: int, dimensions: int, num_tasks: int) -> None:
    x, y = points(200, seed, dimensions)
    stream = Made(x, y, num_tasks=num_tasks, num_test=0.5, seed=seed)
    stream.setup()
    keep = len(stream.tasks[0].x_train) + len(stream.tasks[0].x_test)
    changed = Made(*later_changed(x, y, float(x[keep - 1, 0])), num_tasks=num_tasks, num_test=0.5, seed=seed)
    changed.setup()
    assert_same_tasks(stream.tasks[:1], changed.tasks[:1])


@given(st.integers(0, 1000), st.integers(1, 3))
def test_all_tasks_are_scaled_by_the_first(seed: int, dimensions: int) -> None:
    """One affine map takes the raw tasks to the scaled ones, and the first training points to their place."""
    x, y = points(150, seed, dimensions)
    raw = Made(x, y, num_tasks=3, num_test=0.5, seed=seed)
    raw.scaled = lambda tasks, x, y: tasks  # type: ignore[method-assign]
    stream = Made(x, y, num_tasks=3, num_test=0.5, seed=seed)
    raw.setup()
    stream.setup()
    first, (x_first, y_first) = raw.tasks[0], stream.task_data(0)
    end = 10 / 3 if dimensions == 1 else 10.0
    torch.testing.assert_close(x_first.amin(0), torch.zeros(dimensions, dtype=torch.float64))
    torch.testing.assert_close(x_first.amax(0), torch.full((dimensions,), end, dtype=torch.float64))
    torch.testing.assert_close(y_first.mean().item(), 0.0)
    torch.testing.assert_close(y_first.square().mean().item(), 1.0)
    low, high = first.x_train.amin(0), first.x_train.amax(0)
    mean, deviation = first.y_train.mean(), first.y_train.std(correction=0)
    for task, measured in zip(stream.tasks, raw.tasks, strict=True):
        torch.testing.assert_close(low + (high - low) * task.x_train / end, measured.x_train)
        torch.testing.assert_close(low + (high - low) * task.x_test / end, measured.x_test)
        torch.testing.assert_close(mean + deviation * task.y_train, measured.y_train)
        torch.testing.assert_close(mean + deviation * task.y_test, measured.y_test)


def test_global_statistics_use_everything() -> None:
    x, y = points(50, 0, dimensions=2)
    stream = Made(x, y, num_tasks=5, num_test=0.4, statistics="global")
    stream.setup()
    everything = torch.cat([part for task in stream.tasks for part in (task.x_train, task.x_test)])
    targets = torch.cat([part for task in stream.tasks for part in (task.y_train, task.y_test)])
    assert everything.amin(0).tolist() == [0.0, 0.0]
    assert everything.amax(0).tolist() == [10.0, 10.0]
    torch.testing.assert_close(targets.mean().item(), 0.0)
    torch.testing.assert_close(targets.square().mean().item(), 1.0)


def test_column_that_is_constant_in_the_first_task_is_only_shifted() -> None:
    x, y = points(50, 0, dimensions=2)
    x[:, 1] = torch.where(torch.arange(50) < 30, 7.0, 9.0)
    stream = Made(x, y, num_tasks=2, num_test=0.2)
    stream.setup()
    assert stream.task_data(0)[0][:, 1].unique().tolist() == [5.0]
    assert stream.task_data(1)[0][:, 1].unique().tolist() == [5.0, 7.0]


def test_first_task_that_sets_no_scale_is_refused() -> None:
    x, y = points(40, 0)
    y[:30] = 2.0
    with pytest.raises(ValueError, match=r'16 training points of the first task have the same target.*"global"'):
        Made(x, y, num_tasks=2, num_test=0.2).setup()
    with pytest.raises(ValueError, match=r"1 training points of the first task have the same input.*lower num_tasks"):
        Made(*points(4, 0), num_tasks=2, num_test=2, seed=0).setup()  # trains on the first and the third


def test_unknown_statistics() -> None:
    with pytest.raises(ValueError, match="statistics must be one of first_task, global; got 'all'"):
        Made(*points(9, 0), statistics="all")


def test_missing_values_are_named() -> None:
    x, y = points(40, 0)
    y[3] = float("nan")
    with pytest.raises(ValueError, match="y has NaN or infinite values at 1 of 40 points"):
        Made(x, y).setup()
