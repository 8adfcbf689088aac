"""A table of one's own that grows: a run that is given again learns the new tasks, to the bits of one run over all."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpvae.metrics import TaskTable
from tests.cli.program import assert_same, refused, run_here, weights, write_config

FIT = ("fit", "-c", "level.yaml", "--ckpt_path", "last", "--report.print_table", "false")
RUN = Path("runs") / "level" / "seed_3"
DATA = {"class_path": "DataTable", "paths": "level*.csv", "points_per_task": 20}
#: Closed form, free form by Adam, and points trained by Adam.
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "closed form": ({"method": "OHSGPR"}, {}),
    "two families": ({"method": "auto"}, {}),
    "bank": ({"method": "CosS", "hyperparameters": "bank", "bank_size": 4}, {}),
    "free form": ({"method": "OHSVGP"}, {"steps_per_epoch": 4, "batch_size": 5}),
    "trained points": (
        {"method": "OSGPR", "hyperparameters": "train_always"},
        {"steps_per_epoch": 3, "epochs_per_task": 2},
    ),
}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    hours = pd.date_range("2020-01-01", periods=75, freq="h")
    noise = 0.1 * np.random.default_rng(0).standard_normal(75)
    return pd.DataFrame({"time": hours, "level": np.sin(np.arange(75) / 5) + noise})


def start(folder: Path, case: str, **options: Any) -> Path:
    folder.mkdir(exist_ok=True)
    model, data = MODELS[case]
    write_config(folder, "level.yaml", model=model, data={**DATA, **data, **options})
    return folder


def assert_same_results(one: Path, other: Path) -> None:
    assert (one / RUN / "task_metrics.csv").read_bytes() == (other / RUN / "task_metrics.csv").read_bytes()
    assert_same(*(weights(folder / RUN / "checkpoints" / "last.ckpt") for folder in (one, other)))


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning", "ignore::gpvae.MisfitWarning")
@pytest.mark.parametrize("case", MODELS)
def test_rows_and_files_that_are_added_give_the_bits_of_one_run(case: str, rows: pd.DataFrame, tmp_path: Path) -> None:
    whole, longer, more = (start(tmp_path / name, case) for name in ("whole", "longer", "more"))
    rows.to_csv(whole / "level.csv", index=False)
    run_here(whole, *FIT)
    for number, (begin, end) in enumerate(((0, 27), (27, 35), (35, 75))):
        rows[:end].to_csv(longer / "level.csv", index=False)
        rows[begin:end].to_csv(more / f"level_{number}.csv", index=False)
        for folder in (longer, more):
            run_here(folder, *FIT)
            assert TaskTable.read(folder / RUN / "task_metrics.csv").num_tasks == end // 20
    assert_same_results(whole, longer)
    assert_same_results(whole, more)


def test_only_new_rows_after_the_old_ones_are_taken(
    rows: pd.DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = start(tmp_path, "closed form")
    rows[:50].to_csv(folder / "level.csv", index=False)
    run_here(folder, *FIT)
    run_here(folder, *FIT)
    assert "All 2 tasks of the data are learnt: there is nothing new" in caplog.text
    rows[:30].to_csv(folder / "level.csv", index=False)
    assert "has learnt 2 tasks, but the data make 1" in refused(folder, *FIT)
    rows.drop(index=25).to_csv(folder / "level.csv", index=False)
    message = refused(folder, *FIT)
    assert "points of task 2 differ" in message
    assert "Give the original data, with new data after them" in message
    rows.assign(level=rows["level"].where(rows.index != 45, 3.0)).to_csv(folder / "level.csv", index=False)
    run_here(folder, *FIT)  # what waited may still change
    assert TaskTable.read(folder / RUN / "task_metrics.csv").num_tasks == 3
    pd.concat([rows[:45], rows[40:]]).to_csv(folder / "level.csv", index=False)
    assert "occur more than once" in refused(folder, *FIT)
    other = rows.rename(columns={"level": "depth"})
    other.to_csv(folder / "level.csv", index=False)
    assert "columns: time and level in the checkpoint and time and depth here" in refused(folder, *FIT)


def test_predictions_are_in_the_units_of_the_table(rows: pd.DataFrame, tmp_path: Path) -> None:
    folder = start(tmp_path, "closed form")
    rows.assign(level=100 + 7 * rows["level"]).to_csv(folder / "level.csv", index=False)
    run_here(folder, *FIT)
    run_here(folder, "predict", "-c", "level.yaml")
    predicted = pd.read_csv(folder / RUN / "predictions.csv", parse_dates=["time"])
    joined = predicted.merge(pd.read_csv(folder / "level.csv", parse_dates=["time"]), on="time")
    assert len(joined) == len(predicted) == 6
    assert (joined["y"] == joined["level"]).all()
    assert (joined["mean"] - joined["level"]).abs().max() < 3
    assert ((joined["mean"] - joined["level"]).abs() < 4 * joined["stddev"]).all()


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning", "ignore::gpvae.HyperparameterWarning")
def test_the_shipped_config(rows: pd.DataFrame, tmp_path: Path) -> None:
    rows.to_csv(tmp_path / "mine.csv", index=False)
    small = ("--data.points_per_task", "30", "--name", "mine", "--figures.enabled", "false")
    run_here(tmp_path, "fit", "-c", "own_table", "--data.paths", "mine.csv", *small)
    assert TaskTable.read(tmp_path / "runs" / "mine" / "seed_1" / "task_metrics.csv").num_tasks == 2
