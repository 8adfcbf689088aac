"""Scores of groups of points, such as variables, beside those of all points."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch.distributions import Normal

from gpvae.metrics import NLPD, RMSE, Score, TaskScores, TaskTable
from gpvae.metrics.score import ScoreKey

rng = np.random.default_rng(1)
#: Two batches for each of two tasks: mean, deviation, target and group; task 1 has no points of group c.
BATCHES = [
    [(rng.normal(size=n), rng.uniform(0.5, 2, n), rng.normal(size=n), rng.integers(0, num_groups, n)) for n in (11, 5)]
    for num_groups in (2, 4)
]
NAMES = ["a", "b", "c", "d"]


def scored(metrics: list[str]) -> TaskScores:
    scores = TaskScores(metrics, num_variables=4)
    scores.reset(2)
    for task, batches in enumerate(BATCHES):
        for mean, scale, target, group in batches:
            y = Normal(torch.tensor(mean), torch.tensor(scale))
            scores.update(task, y, torch.tensor(target), torch.tensor(group))
    return scores


def by_variable(scores: TaskScores, names: list[str] = NAMES) -> dict[ScoreKey, float]:
    """The scores of single variables, after two tasks."""
    return {score.key: score.value for score in scores.compute(2, names) if score.variable}


def test_scores_of_groups_are_those_of_a_plain_loop() -> None:
    found = by_variable(scored(["nlpd", "rmse"]))
    expected = {}
    for task, tasks in ((1, BATCHES[:1]), (2, BATCHES[1:]), (None, BATCHES)):
        for number, name in enumerate(NAMES):
            points = [p for batches in tasks for batch in batches for p in zip(*batch, strict=True) if p[3] == number]
            if points:
                mean, scale, target, _ = np.array(points).T
                expected[2, task, "nlpd", name] = -stats.norm(mean, scale).logpdf(target).mean()
                expected[2, task, "rmse", name] = np.sqrt(np.mean((target - mean) ** 2))
    assert found == pytest.approx(expected, rel=1e-12)
    assert (2, 1, "nlpd", "c") not in found
    assert (2, 2, "nlpd", "c") in found


def test_scores_of_all_points_do_not_depend_on_groups() -> None:
    with_groups = scored(["nlpd", "rmse", "ece"])
    without = TaskScores(["nlpd", "rmse", "ece"])
    without.reset(2)
    for task, batches in enumerate(BATCHES):
        for mean, scale, target, _ in batches:
            without.update(task, Normal(torch.tensor(mean), torch.tensor(scale)), torch.tensor(target))
    expected = {score.key: score.value for score in without.compute(2)}
    found = {score.key: score.value for score in with_groups.compute(2)}
    assert found == pytest.approx(expected, rel=1e-12)
    assert not any(metric == "ece" for _, _, metric, _ in by_variable(with_groups))  # not a mean over points


def test_each_point_is_scored_once_for_all_and_for_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = NLPD.score
    monkeypatch.setattr(NLPD, "score", lambda self, y, target: calls.append(target.numel()) or plain(self, y, target))
    scores = scored(["nlpd"])
    scores.compute(2, NAMES)
    assert calls == [11, 5, 11, 5]


def test_nan_forecasts_of_a_group_are_reported() -> None:
    scores = TaskScores(["rmse"], num_variables=2)
    scores.reset(1)
    mean = torch.tensor([torch.nan, 0.0])
    scores.update(0, Normal(mean, torch.ones(2), validate_args=False), torch.zeros(2), torch.tensor([0, 1]))
    found = by_variable(scores, ["a", "b"])
    assert np.isnan(found[2, 1, "rmse", "a"])
    assert found[2, None, "rmse", "b"] == 0


def test_a_metric_by_itself() -> None:
    rmse = RMSE(num_groups=2)
    y = Normal(torch.zeros(1, 3), torch.ones(1, 3))
    rmse.update(y, torch.tensor([[3.0, 4.0, 1.0]]), torch.tensor([[0, 0, 1]]))
    assert rmse.by_group().tolist() == pytest.approx([np.sqrt(12.5), 1.0])
    assert rmse.compute().item() == pytest.approx(np.sqrt(26 / 3))


def test_the_table_keeps_variables_apart_from_metrics() -> None:
    table = TaskTable()
    for after_task, task, value in ((1, 1, 1.0), (2, 1, 3.0), (2, 2, 2.0)):
        table.add(Score(after_task, task, "nlpd", "", value))
        table.add(Score(after_task, task, "nlpd", "t2m", 10 * value))
    table.add(Score(2, None, "nlpd", "", 2.5))
    table.add(Score(2, None, "nlpd", "t2m", 25.0))
    assert (table.metrics, table.variables) == (["nlpd"], ["t2m"])
    np.testing.assert_array_equal(table.matrix("nlpd", "t2m"), 10 * table.matrix("nlpd"))
    assert (table.seen("nlpd")[1], table.seen("nlpd", "t2m")[1]) == (2.5, 25.0)
    assert (table.forgetting("nlpd"), table.forgetting("nlpd", "t2m")) == (2.0, 20.0)
    assert {key[1:] for key in table.scores if key[0] == 2} == {
        (task, "nlpd", variable) for task in (1, 2, None) for variable in ("", "t2m")
    }
