"""Laws of the split into tasks."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from datamodules.splits import Task, first_dimension, l2_norm, split_tasks


@st.composite
def splits(draw: st.DrawFn) -> tuple[Tensor, list[Task], int]:
    """Inputs with ties among them, the tasks made of them, and the number of test points.

    The targets number the points, so that each can be found again.
    """
    values = draw(st.lists(st.integers(-20, 20), min_size=1, max_size=60))
    num_test = draw(st.integers(0, len(values) - 1))
    num_tasks = draw(st.integers(1, len(values) - num_test))
    x = torch.tensor(values, dtype=torch.float64)[:, None]
    y = torch.arange(len(values))
    return x, split_tasks(x, y, num_tasks, num_test, seed=draw(st.integers(0, 2**32))), num_test


@given(splits())
def test_every_point_lands_in_exactly_one_place(split: tuple[Tensor, list[Task], int]) -> None:
    x, tasks, num_test = split
    test = torch.cat([task.y_test for task in tasks])
    train = torch.cat([task.y_train for task in tasks])
    assert len(test) == num_test
    assert torch.equal(torch.cat([train, test]).sort().values, torch.arange(len(x)))


@given(splits())
def test_inputs_stay_with_their_targets(split: tuple[Tensor, list[Task], int]) -> None:
    x, tasks, _ = split
    for task in tasks:
        assert torch.equal(x[task.y_train], task.x_train)
        assert torch.equal(x[task.y_test], task.x_test)


@given(splits())
def test_sizes_differ_by_at_most_one_and_never_grow(split: tuple[Tensor, list[Task], int]) -> None:
    sizes = [len(task.x_train) for task in split[1]]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


@given(splits())
def test_order_holds_within_and_between_tasks(split: tuple[Tensor, list[Task], int]) -> None:
    _, tasks, _ = split
    for points in ([task.x_train for task in tasks], [task.x_test for task in tasks]):
        key = torch.cat(points)[:, 0]
        assert torch.equal(key, key.sort().values)


@given(splits())
def test_test_points_fall_between_the_beginnings_of_tasks(split: tuple[Tensor, list[Task], int]) -> None:
    _, tasks, _ = split
    for task in tasks[1:]:
        assert (task.x_test >= task.x_train[0]).all()
    for task, following in pairwise(tasks):
        assert (task.x_test < following.x_train[0]).all()


def test_seed_fixes_the_split() -> None:
    x = torch.linspace(0, 1, 50)[:, None]
    first, again, other = (split_tasks(x, x, 5, 0.3, seed=seed) for seed in (1, 1, 2))
    assert all(torch.equal(a.x_test, b.x_test) for a, b in zip(first, again, strict=True))
    assert any(a.x_test.tolist() != b.x_test.tolist() for a, b in zip(first, other, strict=True))


def test_share_of_test_points() -> None:
    x = torch.arange(3338.0)
    tasks = split_tasks(x, x, 10, 0.1, seed=0)
    assert sum(len(task.x_test) for task in tasks) == 334


def test_key_sets_the_order() -> None:
    x = torch.tensor([[3.0, 4.0], [-1.0, 0.0], [0.0, 2.0], [6.0, 8.0]])
    assert l2_norm(x).tolist() == [5.0, 1.0, 2.0, 10.0]
    assert first_dimension(x).tolist() == [3.0, -1.0, 0.0, 6.0]
    assert l2_norm(x[:, 0]).tolist() == [3.0, 1.0, 0.0, 6.0]
    tasks = split_tasks(x, torch.arange(4), 4, 0, seed=0, key=l2_norm)
    assert [task.y_train.item() for task in tasks] == [1, 2, 0, 3]


NAN = torch.tensor([0.0, float("nan"), 1.0])
FINE = torch.arange(3.0)


@pytest.mark.parametrize(
    ("x", "y", "num_tasks", "num_test", "message"),
    [
        (FINE, FINE[:2], 1, 0, "x has 3 points and y has 2"),
        (FINE[:0], FINE[:0], 1, 0, "empty"),
        (NAN, FINE, 1, 0, "x has NaN or infinite values at 1 of 3 points"),
        (FINE, NAN, 1, 0, "y has NaN"),
        (FINE, FINE, 4, 0, "Cannot make 4 tasks of 3 training points"),
        (FINE, FINE, 3, 1, "Cannot make 3 tasks of 2 training points"),
        (FINE, FINE, 0, 0, "between 1 and"),
        (FINE, FINE, 1, 3, "below 3, the number of all points"),
        (FINE, FINE, 1, -1, "at least 0"),
        (FINE, FINE, 1, 1.0, "as a fraction"),
        (FINE, FINE, 1, float("nan"), "as a fraction"),
    ],
)
def test_what_does_not_fit_is_refused(
    x: Tensor, y: Tensor, num_tasks: int, num_test: int | float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        split_tasks(x, y, num_tasks, num_test, seed=0)


def test_key_must_give_one_finite_number_for_each_input() -> None:
    with pytest.raises(ValueError, match=r"key\(x\) has shape \(3, 1\)"):
        split_tasks(FINE, FINE, 1, 0, seed=0, key=lambda x: x[:, None])
    with pytest.raises(ValueError, match=r"key\(x\) has NaN"):
        split_tasks(FINE, FINE, 1, 0, seed=0, key=lambda x: x.log())
