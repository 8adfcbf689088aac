import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from gpvae.metrics import Score, TaskScores
from gpvae.metrics.score import ScoreKey
from tests.metrics import ddp_scores

ROOT = Path(__file__).parents[2]


def normal(points: int, scale: float = 1.0) -> Normal:
    return Normal(torch.zeros(points), torch.full((points,), scale))


def by_key(scores: list[Score]) -> dict[ScoreKey, float]:
    return {score.key: score.value for score in scores}


def test_keys_in_the_order_given_and_the_pool_over_points() -> None:
    scores = TaskScores(["rmse", "nlpd"])
    scores.reset(2)
    scores.update(0, normal(3), torch.full((3,), 1.0))
    scores.update(1, normal(1), torch.full((1,), 3.0))
    result = by_key(scores.compute(2))
    assert list(result) == [(2, task, metric, "") for metric in ("rmse", "nlpd") for task in (1, 2, None)]
    assert result[2, None, "rmse", ""] == pytest.approx(np.sqrt((3 * 1 + 9) / 4))
    pooled = (3 * result[2, 1, "nlpd", ""] + result[2, 2, "nlpd", ""]) / 4
    assert result[2, None, "nlpd", ""] == pytest.approx(pooled)


def test_tasks_without_points_are_left_out() -> None:
    scores = TaskScores(["nlpd"])
    assert scores.compute(0) == []
    scores.reset(3)
    scores.update(1, normal(2), torch.zeros(2))
    assert list(by_key(scores.compute(3))) == [(3, 2, "nlpd", ""), (3, None, "nlpd", "")]


def test_nan_forecasts_are_reported() -> None:
    """Tasks without points are left out; tasks with a NaN score are not."""
    scores = TaskScores(["rmse"])
    scores.reset(1)
    scores.update(0, Normal(torch.full((2,), torch.nan), torch.ones(2), validate_args=False), torch.zeros(2))
    assert np.isnan(by_key(scores.compute(1))[1, 1, "rmse", ""])


def test_reset_grows_shrinks_and_forgets() -> None:
    scores = TaskScores(["rmse"])
    for num_tasks in (1, 4, 2):
        scores.reset(num_tasks)
        for task in range(num_tasks):
            scores.update(task, normal(2), torch.full((2,), float(num_tasks)))
        result = scores.compute(num_tasks)
        assert len(result) == num_tasks + 1
        assert all(score.value == num_tasks for score in result)
    with pytest.raises(IndexError, match="room for 2"):
        scores.update(2, normal(1), torch.zeros(1))


def test_new_metrics_are_on_the_device_of_the_module() -> None:
    module = torch.nn.Sequential(TaskScores(["nlpd", "ece"])).to("meta")
    scores = module[0]
    scores.reset(2)
    states = [metric.count for metrics in (*scores.tasks, scores.seen) for metric in metrics.values()]
    assert len(states) == 9
    assert {state.device.type for state in states} == {"meta"}


def test_scores_are_not_part_of_checkpoints() -> None:
    scores = TaskScores(["nlpd", "rmse", "ece", "coverage", "accuracy"])
    scores.reset(3)
    scores.double()
    assert scores.state_dict() == {}
    scores.load_state_dict({})


def test_unknown_or_missing_metrics_are_refused() -> None:
    with pytest.raises(ValueError, match="no metric is called 'mae'"):
        TaskScores(["mae"])
    with pytest.raises(ValueError, match="give at least one"):
        TaskScores([])


@pytest.mark.slow
@pytest.mark.parametrize("world_size", [2])
def test_processes_score_together(tmp_path: Path, world_size: int) -> None:
    """Uneven shards: tasks with points on one process only or on none, and a process without any points."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    commands = [
        [sys.executable, ddp_scores.__file__, str(rank), str(world_size), str(tmp_path)] for rank in range(world_size)
    ]
    processes = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for command in commands]
    try:
        errors = [process.communicate(timeout=1800)[1].decode() for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * world_size, errors
    for rank in range(world_size):
        results = json.loads((tmp_path / f"{rank}.json").read_text())
        for name, shards in (("uneven", ddp_scores.SHARDS), ("one_idle", ddp_scores.ONE_IDLE)):
            expected = ddp_scores.score(None, shards)
            assert list(results[name]) == list(expected)
            assert results[name] == pytest.approx(expected, rel=1e-12)
            assert not any(key.startswith("3 nlpd") for key in expected)
            assert len({expected[f"None rmse {group}"] for group in ddp_scores.GROUPS}) == 3
            assert expected["4 nlpd "] != expected["None nlpd "]
        assert results["forgetting"] == 0.5
