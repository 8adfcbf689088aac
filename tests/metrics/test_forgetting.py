import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpvae.metrics import HIGHER, LOWER, BackwardTransfer, Forgetting, Score, Target, TaskMatrix, TaskTable


def fill(metric: TaskMatrix, scores: np.ndarray) -> TaskMatrix:
    for after_task in range(1, len(scores) + 1):
        for task in range(1, after_task + 1):
            metric.update(after_task, task, scores[after_task - 1, task - 1])
    return metric


LOSSES: dict[Target, Callable[[float], float]] = {
    LOWER: lambda score: score,
    HIGHER: lambda score: -score,
    Target(0.9): lambda score: abs(score - 0.9),
}


@given(num_tasks=st.integers(2, 6), target=st.sampled_from(list(LOSSES)), seed=st.integers(0, 99))
def test_definition_in_plain_numpy(num_tasks: int, target: Target, seed: int) -> None:
    r = np.random.default_rng(seed).normal(size=(num_tasks, num_tasks))
    loss = LOSSES[target]
    expected = np.mean([loss(r[num_tasks - 1, j]) - loss(r[j, j]) for j in range(num_tasks - 1)])
    assert fill(Forgetting(target), r).compute().item() == pytest.approx(expected)
    assert fill(BackwardTransfer(target), r).compute().item() == pytest.approx(-expected)


def test_sign() -> None:
    """A higher NLPD and a lower accuracy on an earlier task are both forgetting."""
    assert fill(Forgetting(), np.array([[1.0, 0], [3, 1]])).compute() == 2
    accuracy = np.array([[0.75, 0], [0.5, 1]])
    assert fill(Forgetting(HIGHER), accuracy).compute() == 0.25
    assert fill(BackwardTransfer(HIGHER), accuracy).compute() == -0.25
    assert (Forgetting.higher_is_better, BackwardTransfer.higher_is_better) == (False, True)


@pytest.mark.parametrize(("learnt", "now", "forgotten"), [(0.9, 1.0, 0.1), (0.9, 0.7, 0.2), (1.0, 0.9, -0.1)])
def test_coverage_is_forgotten_by_leaving_its_level_either_way(learnt: float, now: float, forgotten: float) -> None:
    table = TaskTable()
    for after_task, task, value in [(1, 1, learnt), (2, 1, now), (2, 2, 0.9)]:
        table.add(Score(after_task, task, "coverage", "", value))
    assert table.forgetting("coverage") == pytest.approx(forgotten)


def test_matrix() -> None:
    scores = np.tril(np.arange(1.0, 10).reshape(3, 3))
    matrix = fill(TaskMatrix(), scores)
    np.testing.assert_array_equal(matrix.compute(), np.where(scores == 0, np.nan, scores))
    matrix.update(2, 1, torch.tensor(-1.0))
    assert matrix.compute()[1, 0] == -1
    matrix.reset()
    matrix.update(1, 1, 5.0)
    assert matrix.compute().tolist() == 5


def test_tasks_without_scores_are_left_out() -> None:
    forgetting = Forgetting()
    for entry in [(1, 1, 1.0), (3, 1, 4.0), (3, 2, 9.0), (3, 3, 1.0)]:  # task 2 was not scored when just learnt
        forgetting.update(*entry)
    assert forgetting.compute() == 3


def test_forgetting_is_nan_before_the_second_task() -> None:
    forgetting = Forgetting()
    forgetting.update(1, 1, 1.0)
    assert math.isnan(forgetting.compute())


@pytest.mark.parametrize(("after_task", "task"), [(1, 2), (0, 0), (3, 0)])
def test_impossible_tasks_are_refused(after_task: int, task: int) -> None:
    with pytest.raises(ValueError, match="count from 1"):
        Forgetting().update(after_task, task, 0.0)
