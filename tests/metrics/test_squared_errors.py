"""Skill and RMSE in units, from sums of squared errors."""

import pytest
import torch

from gpvae.metrics import SquaredErrors
from gpvae.metrics.squared_errors import MODEL, PHYSICAL


def test_skill_is_one_minus_the_ratio_of_mean_squares_by_task_and_variable() -> None:
    errors = SquaredErrors(2, 2, ["persistence"], physical=True)
    variable = torch.tensor([0, 0, 1])
    for task in range(2):
        errors.count(task, variable)
        errors.add(MODEL, task, torch.tensor([1.0, 1.0, 2.0]), variable)
        errors.add("persistence", task, torch.tensor([2.0, 2.0, 1.0 + task]), variable)
        errors.add(PHYSICAL, task, torch.tensor([3.0, 4.0, 500.0]), variable)
    found = {score.key[1:]: score.value for score in errors.compute(2, ["t2m", "msl"], torch.device("cpu"))}
    assert found[1, "skill_persistence", "t2m"] == pytest.approx(1 - 2 / 8)
    assert found[1, "skill_persistence", "msl"] == pytest.approx(1 - 4 / 1)
    assert found[2, "skill_persistence", "msl"] == pytest.approx(0.0)
    assert found[None, "skill_persistence", ""] == pytest.approx(1 - 12 / 21)
    assert found[None, "rmse_physical", "t2m"] == pytest.approx(12.5**0.5)
    assert (None, "rmse_physical", "") not in found  # K and Pa have no common mean


def test_a_task_without_points_and_a_perfect_reference_have_no_skill() -> None:
    errors = SquaredErrors(2, 1, ["variance"])
    errors.count(0, torch.tensor([0]))
    errors.add(MODEL, 0, torch.tensor([1.0]), torch.tensor([0]))
    errors.add("variance", 0, torch.tensor([0.0]), torch.tensor([0]))
    assert errors.compute(2, [], torch.device("cpu")) == []
