"""Scores of each variable and task: their values, their rows in the csv file, and their tags in the log."""

import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from lightning.pytorch import Callback, LightningModule, Trainer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from callbacks.report import TaskReport
from gpvae.metrics import TaskTable
from gpvae.metrics.score import ScoreKey
from gpvae.vae.keyed_noise import Draws
from tests.callbacks.figures.toy_series import NAMES, ToySeries, learn, small_model, toy_series

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
]

METRICS = ("nlpd", "rmse", "coverage")


class PlainLoop(Callback):
    """Scores every value one by one, after each task."""

    def __init__(self) -> None:
        self.rows: dict[ScoreKey, float] = {}

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        stream: ToySeries = trainer.datamodule
        after_task = int(pl_module.learned)
        points: dict[tuple[int, str], list[tuple[float, float]]] = {}
        for task in range(after_task):
            for series, times, y, mask in stream.test_loader(task, 0, 1):
                numbers = Draws(pl_module.seed, "evaluate")
                draws = pl_module.vae.decode_samples(times, series, pl_module.num_samples, numbers)
                mean, scale = (part.double().numpy() for part in draws)
                for b, t, v in np.argwhere(mask.numpy()):
                    target = float(y[b, t, v])
                    z = (target - mean[b, t, v]) / scale[b, t, v]
                    density = np.mean(np.exp(-0.5 * z**2) / scale[b, t, v] / math.sqrt(2 * math.pi))
                    below = np.mean([NormalDist().cdf(value) for value in z])
                    inside = float(0.05 <= below <= 0.95)
                    scored = (-math.log(density), (target - mean[b, t, v].mean()) ** 2, inside)
                    for name in ("", NAMES[v]):
                        points.setdefault((task + 1, name), []).append(scored)
                        points.setdefault((0, name), []).append(scored)
        for (task, name), scored in points.items():
            nlpd, square, inside = np.mean(scored, axis=0)
            for metric, value in (("nlpd", nlpd), ("rmse", math.sqrt(square)), ("coverage", inside)):
                self.rows[after_task, task or None, metric, name] = value


def rows(folder: Path) -> dict[ScoreKey, float]:
    return TaskTable.read(folder / "task_metrics.csv").scores


def test_the_csv_file_has_the_scores_of_a_plain_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop, report = PlainLoop(), TaskReport(compare=False)
    learn(tmp_path, small_model(), toy_series(), report, loop)
    found = {key: value for key, value in rows(tmp_path).items() if key[2] != "crps"}
    assert found == pytest.approx(loop.rows, rel=1e-5)
    assert len(found) == 3 * (3 + 2) * (1 + len(NAMES))
    assert report.metrics == ["nlpd", "rmse", "crps", "coverage"]
    assert report.variables == list(NAMES)
    shown = capsys.readouterr().out
    assert "NLPD on each task" in shown
    assert "t2m" not in shown


def test_unobserved_variables_have_no_score(tmp_path: Path) -> None:
    stream = toy_series()
    stream.locations = stream.locations[:1]  # the others have d2m in the second task
    learn(tmp_path, small_model(), stream, TaskReport(print_table=False))
    found = rows(tmp_path)
    assert (2, 2, "nlpd", "d2m") not in found
    assert (2, 1, "nlpd", "d2m") in found
    assert found[2, None, "rmse", "d2m"] == found[2, 1, "rmse", "d2m"]


def test_the_log_has_one_curve_for_each_variable(tmp_path: Path) -> None:
    learn(tmp_path, small_model(), toy_series(), TaskReport(print_table=False, compare=False))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    tags = {tag for tag in events.Tags()["scalars"] if tag.startswith(METRICS)}
    single = {f"{metric}_by_variable/{name}" for metric in METRICS for name in NAMES}
    parts = ("task_01", "task_02", "seen", "forgetting", "backward_transfer")
    assert tags == single | {f"{metric}/{part}" for metric in METRICS for part in parts}
    curve = events.Scalars("nlpd_by_variable/t2m")
    assert [point.step for point in curve] == [1, 2]
    assert curve[-1].value == pytest.approx(rows(tmp_path)[2, None, "nlpd", "t2m"])


def test_without_names_variables_are_numbered(tmp_path: Path) -> None:
    module, stream = small_model(), toy_series(num_tasks=1)
    learn(tmp_path, module, stream)
    module.last_scores = []
    trainer = Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.validate(module, stream.test_loader(0, 0, 1), verbose=False)
    seen = [score for score in module.last_scores if score.metric == "rmse" and score.task is None and score.variable]
    assert [score.variable for score in seen] == [f"v{number:02d}" for number in range(1, 7)]


def test_one_variable_is_scored_once(tmp_path: Path) -> None:
    stream = toy_series(num_tasks=1)
    stream.names = ("t2m",)
    learn(tmp_path, small_model(num_variables=1), stream, TaskReport(print_table=False))
    skills = ("skill_climatology", "skill_persistence", "skill_variance")
    metrics = (*METRICS, "crps", "rmse_physical", *skills)
    assert set(rows(tmp_path)) == {(1, task, metric, "") for metric in metrics for task in (1, None)}
