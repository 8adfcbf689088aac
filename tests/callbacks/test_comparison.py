"""Prequential scores, skill and units of whole runs, against the same computed by hand from checkpoints."""

from pathlib import Path

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch.distributions import Normal

from callbacks import TaskReport
from callbacks.comparison import references_for
from gpvae.metrics import RMSE, Coverage, TaskTable, equal_mixture, read_foresight
from gpvae.modules import SVGPVAE
from gpvae.results.location_table import read_locations
from tests.callbacks.figures.toy_series import NAMES, ToySeries, learn, small_model, toy_series

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
]


class AfterTasks(Callback):
    """Keeps the state of the module after each task."""

    def __init__(self) -> None:
        self.states: list[dict[str, torch.Tensor]] = []

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.states.append({name: value.clone() for name, value in pl_module.state_dict().items()})


def run(folder: Path, num_tasks: int = 3) -> tuple[SVGPVAE, ToySeries, AfterTasks]:
    torch.manual_seed(0)
    module, stream, states = small_model(), toy_series(num_tasks=num_tasks), AfterTasks()
    learn(folder, module, stream, TaskReport(print_table=False), states)
    return module, stream, states


def test_foresight_is_the_score_of_the_model_that_has_not_seen_the_task(tmp_path: Path) -> None:
    _, stream, states = run(tmp_path)
    rows = {tuple(row[:4]): row for row in read_foresight(tmp_path / "foresight.csv")}
    assert {row[0] for row in rows} == {2, 3, None}
    for task in (1, 2):
        module = small_model()
        module.load_state_dict(states.states[task - 1])
        times, y, mask = stream.task_data(task)
        batch = (torch.arange(len(y)), times, y, mask)
        with torch.no_grad():
            predictive, target = module.predictive(batch)
        lead = times - stream.task_data(task - 1).times[-1]
        early = (lead <= 6)[:, None].expand_as(mask)[mask]
        coverage, rmse = Coverage(), RMSE()
        coverage.update(predictive, target)
        parts = predictive.component_distribution
        rmse.update(equal_mixture(Normal(parts.mean[early], parts.stddev[early])), target[early])
        assert rows[task + 1, "", "coverage", ""].value == pytest.approx(float(coverage.compute()))
        assert rows[task + 1, "1-6", "rmse", ""].value == pytest.approx(float(rmse.compute()), rel=1e-5)
        assert rows[task + 1, "1-6", "rmse", ""].num_values == int(early.sum())


def test_skill_uses_training_values_of_learnt_tasks_alone(tmp_path: Path) -> None:
    _, stream, states = run(tmp_path, num_tasks=2)
    table = TaskTable.read(tmp_path / "task_metrics.csv").scores
    module = small_model()
    module.load_state_dict(states.states[0])
    series, times, y, mask = next(iter(stream.test_loader(0, 0, 1)))
    with torch.no_grad():
        mean = module.predictive((series, times, y, mask))[0].mean
    for name, reference in references_for(stream).items():
        reference.update(*stream.task_data(0))  # of the first task alone
        expected = (y - reference.predict(times, series))[mask].square().mean()
        skill = 1 - float((y[mask] - mean).square().mean() / expected)
        assert table[1, 1, f"skill_{name}", ""] == pytest.approx(skill, rel=1e-4, abs=1e-5)


def test_locations_together_have_the_score_of_the_stream(tmp_path: Path) -> None:
    _, stream, _ = run(tmp_path, num_tasks=2)
    table = TaskTable.read(tmp_path / "task_metrics.csv").scores
    locations = read_locations(tmp_path / "skill_by_location.csv")
    assert [score.location for score in locations] == list(range(stream.num_series))
    assert [score.latitude for score in locations] == stream.description.coordinates.latitude.tolist()
    total = sum(score.num_values * score.rmse**2 for score in locations)
    num = sum(score.num_values for score in locations)
    assert (total / num) ** 0.5 == pytest.approx(table[2, None, "rmse", ""], rel=1e-4)
    reference = sum(score.num_values * score.rmse**2 / (1 - score.skill_climatology) for score in locations)
    assert 1 - total / reference == pytest.approx(table[2, None, "skill_climatology", ""], rel=1e-4)


def test_errors_are_in_the_units_of_the_data(tmp_path: Path) -> None:
    """Without a curve the RMSE in units is the standardised one times the deviation."""
    _, stream, _ = run(tmp_path, num_tasks=2)
    table = TaskTable.read(tmp_path / "task_metrics.csv").scores
    for name in ("t2m", "msl"):
        deviation = float(stream._prepared().scaling.deviation[NAMES.index(name)])
        assert table[2, None, "rmse_physical", name] == pytest.approx(
            table[2, None, "rmse", name] * deviation, rel=0.02
        )
    assert 0 < table[2, None, "rmse_physical", "tp"] < 1e-2  # metres of rain
    assert (2, None, "rmse_physical", "") not in table


def test_looking_ahead_does_not_change_what_is_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = run(tmp_path / "one")[0].state_dict()
    monkeypatch.setattr("callbacks.continual.foresee", lambda *args: None)
    other = run(tmp_path / "other")[0].state_dict()
    differing = {name for name in one if not torch.equal(one[name], other[name])}
    assert differing == {"vae.widening.log_factor"}
