import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpvae.metrics import BackwardTransfer, Forgetting, TaskMatrix


def fill(metric: TaskMatrix, scores: np.ndarray) -> TaskMatrix:
    for after_task in range(1, len(scores) + 1):
        for task in range(1, after_task + 1):
            metric.update(after_task, task, scores[after_task - 1, task - 1])
    return metric


@given(num_tasks=st.integers(2, 6), higher_is_better=st.booleans(), seed=st.integers(0, 99))
def test_the_definition_written_plainly(num_tasks: int, higher_is_better: bool, seed: int) -> None:
    r = np.random.default_rng(seed).normal(size=(num_tasks, num_tasks))
    lost = np.mean([r[num_tasks - 1, j] - r[j, j] for j in range(num_tasks - 1)])
    expected = -lost if higher_is_better else lost
    assert fill(Forgetting(higher_is_better), r).compute().item() == pytest.approx(expected)
    assert fill(BackwardTransfer(higher_is_better), r).compute().item() == pytest.approx(-expected)


def test_sign() -> None:
    """Greater NLPD and smaller accuracy on the old task both are forgetting."""
    assert fill(Forgetting(), np.array([[1.0, 0], [3, 1]])).compute() == 2
    accuracy = np.array([[0.75, 0], [0.5, 1]])
    assert fill(Forgetting(score_higher_is_better=True), accuracy).compute() == 0.25
    assert fill(BackwardTransfer(score_higher_is_better=True), accuracy).compute() == -0.25
    assert (Forgetting.higher_is_better, BackwardTransfer.higher_is_better) == (False, True)


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
    for after_task, task, value in [(1, 1, 1.0), (3, 1, 4.0), (3, 2, 9.0), (3, 3, 1.0)]:  # task 2: none of its own
        forgetting.update(after_task, task, value)
    assert forgetting.compute() == 3


def test_nothing_is_forgotten_before_there_is_an_old_task() -> None:
    forgetting = Forgetting()
    forgetting.update(1, 1, 1.0)
    assert math.isnan(forgetting.compute())


@pytest.mark.parametrize(("after_task", "task"), [(1, 2), (0, 0), (3, 0)])
def test_impossible_tasks_are_refused(after_task: int, task: int) -> None:
    with pytest.raises(ValueError, match="count from 1"):
        Forgetting().update(after_task, task, 0.0)
