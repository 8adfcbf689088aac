"""The README's command for weather, with a quarter of its locations: ten tasks, scores, figures, calibration."""

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gpvae.metrics.task_table import TaskTable
from tests.cli.program import run, script

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs" / "era5_ohsvgp.yaml"


COMMAND = "make setup && .venv/bin/lightning fit -c configs/era5_ohsvgp.yaml"


@pytest.mark.slow
@pytest.mark.ci
def test_the_shipped_stream_is_learnt_and_remembered_with_calibrated_intervals(tmp_path: Path) -> None:
    assert f"```sh\n{COMMAND}\n" in (ROOT / "README.md").read_text()
    fewer = ("--data.points", "8", "--data.batch_size", "4", "--figures.every_n_tasks", "5")
    args = ("fit", "-c", str(CONFIG), *fewer)
    fit = run(tmp_path, *args, program=[script("lightning")], OMP_NUM_THREADS="1")
    assert fit.returncode == 0, fit.stderr
    assert "SYNTHETIC" in fit.stderr + fit.stdout
    assert "NLPD on each task" in fit.stdout
    folder = tmp_path / "runs" / "era5_ohsvgp_points_8_batch_size_4" / "seed_1"
    table = TaskTable.read(folder / "task_metrics.csv")
    pairs = {(after, task) for after in range(1, 11) for task in range(1, after + 1)}
    for metric in ("nlpd", "rmse"):
        assert {key[:2] for key in table.scores if key[2:] == (metric, "") and key[1]} == pairs
    assert len(table.variables) == 17

    nlpd = table.matrix("nlpd")
    assert nlpd.diagonal().mean() < 0.35
    assert table.seen("nlpd")[-1] < 0.35  # predicting the mean of standardised values gives 1.42
    assert table.forgetting("nlpd") < 0.1
    coverage = {name: table.scores[10, None, "coverage", name] for name in table.variables}
    too_wide = {
        "msl",
        "sp",
    }  # pressure is smoother than the rest, and its scale is not learnt as small
    assert all(0.85 <= share <= (1.0 if name in too_wide else 0.995) for name, share in coverage.items()), coverage

    events = EventAccumulator(str(folder))
    events.Reload()
    assert {"reconstructions", "skill", "forgetting/nlpd"} <= set(events.Tags()["images"])
    steps = [point.step for point in events.Scalars("nlpd/task_01")]
    assert steps == list(range(1, 11))
