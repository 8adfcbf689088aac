"""A loader gives every point exactly once a pass, in an order that only its numbers decide."""

import copy
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from datamodules import Batch, TaskLoader


def points(num: int) -> tuple[Tensor, Tensor]:
    """Points whose targets number them."""
    y = torch.arange(num, dtype=torch.float64)
    return -y[:, None], y


def orders(loader: TaskLoader) -> list[list[int]]:
    return [batch.index.tolist() for batch in loader]


@st.composite
def teams(draw: st.DrawFn) -> list[TaskLoader]:
    """The loaders of all processes that share a task, for one pass."""
    world_size = draw(st.integers(1, 5))
    x, y = points(draw(st.integers(world_size, 60)))
    options = {
        "batch_size": draw(st.integers(1, 70)),
        "seed": draw(st.integers(0, 2**40)),
        "shuffle": draw(st.booleans()),
    }
    return [TaskLoader(x, y, rank=rank, world_size=world_size, **options) for rank in range(world_size)]


@given(teams())
def test_together_the_processes_give_every_point_once(team: list[TaskLoader]) -> None:
    given_out = [point for loader in team for batch in orders(loader) for point in batch]
    assert sorted(given_out) == list(range(len(team[0].x)))


@given(teams())
def test_all_processes_give_equally_many_batches_and_none_is_empty(team: list[TaskLoader]) -> None:
    assert len({len(orders(loader)) for loader in team}) == 1
    for loader in team:
        sizes = [len(batch) for batch in orders(loader)]
        assert len(sizes) == len(loader)
        assert min(sizes) >= 1
        assert max(sizes) - min(sizes) <= 1
        assert loader.batch_size is not None
        assert max(sizes) <= max(loader.batch_size, 2)


@given(teams(), st.integers(1, 200))
def test_passes_are_repeated_until_there_are_enough_batches(team: list[TaskLoader], num_batches: int) -> None:
    per_pass = len(team[0])
    for loader in team:
        loader.num_batches = num_batches
    rows = [orders(loader) for loader in team]
    assert {len(row) for row in rows} == {num_batches} == {len(loader) for loader in team}
    for start in range(0, num_batches - per_pass + 1, per_pass):
        one_pass = [point for row in rows for batch in row[start : start + per_pass] for point in batch]
        assert sorted(one_pass) == list(range(len(team[0].x)))


@given(teams(), st.integers(1, 40), st.data())
def test_a_loader_goes_on_where_another_stopped(team: list[TaskLoader], num_batches: int, data: st.DataObject) -> None:
    loader = team[-1]
    loader.num_batches = num_batches
    fresh = copy.copy(loader)
    whole = orders(loader)
    stop = data.draw(st.integers(0, num_batches - 1))
    interrupted = copy.copy(fresh)
    assert len(list(islice(interrupted, stop))) == stop
    state = interrupted.state_dict()
    assert state == {"epoch": 0, "batch": stop}
    fresh.load_state_dict(state)
    assert fresh.state_dict() == state
    iter(fresh)  # Lightning makes iterators it does not use
    assert len(fresh) == num_batches
    assert orders(fresh) == whole[stop:]
    assert orders(fresh) == whole  # the next epoch begins at its beginning


@pytest.mark.parametrize("state", [{"epoch": 3, "batch": 2}, {"epoch": 4, "batch": 5}, {"epoch": 4, "batch": 9}])
def test_a_place_elsewhere_is_ignored(state: dict[str, int]) -> None:
    loader = TaskLoader(*points(10), batch_size=2, epoch=4, shuffle=True)
    whole = orders(loader)
    loader.load_state_dict(state)
    assert orders(loader) == whole


def test_order_depends_on_seed_epoch_and_pass_and_nothing_else() -> None:
    def order(seed: int, epoch: int) -> list[list[int]]:
        torch.manual_seed(torch.seed())
        return orders(TaskLoader(*points(50), batch_size=50, num_batches=2, seed=seed, epoch=epoch, shuffle=True))

    assert order(1, 2) == order(1, 2)
    distinct = [
        tuple(one_pass) for numbers in ((1, 2), (2, 1), (1, 3), (3, 2), (12, 0)) for one_pass in order(*numbers)
    ]
    assert len(set(distinct)) == 10


def test_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    orders(TaskLoader(*points(10), batch_size=3, shuffle=True))
    assert torch.equal(before, torch.get_rng_state())


def test_points_stay_together() -> None:
    x, y = points(20)
    for batch in TaskLoader(x, y, batch_size=6, shuffle=True):
        assert isinstance(batch, Batch)
        assert batch.index.dtype == torch.int64
        assert torch.equal(batch.x, x[batch.index])
        assert torch.equal(batch.y, y[batch.index])


@pytest.mark.parametrize("num_batches", [None, 1, 4])
def test_without_a_batch_size_every_process_gets_the_task_itself(num_batches: int | None) -> None:
    x, y = points(3)
    loader = TaskLoader(x, y, num_batches=num_batches, shuffle=True, rank=4, world_size=5)
    batches = list(loader)
    assert len(batches) == len(loader) == (num_batches or 1)
    for batch in batches:
        assert batch.x is x
        assert batch.y is y
        assert batch.index.tolist() == [0, 1, 2]


def test_without_shuffling_the_order_is_that_of_the_task() -> None:
    assert orders(TaskLoader(*points(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert orders(TaskLoader(*points(5), batch_size=2, rank=1, world_size=2)) == [[1], [3]]


def test_too_few_points_for_the_processes() -> None:
    with pytest.raises(ValueError, match=r"2 points cannot be shared by 3 process.*fewer devices"):
        TaskLoader(*points(2), batch_size=1, world_size=3)
    shares = [orders(TaskLoader(*points(2), 8, rank=rank, world_size=3, allow_empty=True)) for rank in range(3)]
    assert shares == [[[0]], [[1]], []]


def test_no_points_and_points_without_targets() -> None:
    with pytest.raises(ValueError, match="0 points cannot be shared by 1"):
        TaskLoader(*points(0))
    for batch_size in (None, 5):
        assert orders(TaskLoader(*points(0), batch_size, num_batches=3, allow_empty=True)) == []
    with pytest.raises(ValueError, match="x has 3 points and y has 2"):
        TaskLoader(points(3)[0], points(2)[1])


@given(teams(), st.integers(1, 100))
def test_a_minimum_of_batches_is_reached_by_whole_passes(team: list[TaskLoader], min_batches: int) -> None:
    one_pass = len(team[0])
    for loader in team:
        loader.min_batches = min_batches
    lengths = {len(loader) for loader in team}
    (length,) = lengths
    assert length % one_pass == 0
    assert max(min_batches, one_pass) <= length < min_batches + one_pass
    given_out = [point for loader in team for batch in orders(loader) for point in batch]
    counts = torch.tensor(given_out).bincount()
    assert set(counts.tolist()) == {length // one_pass}
