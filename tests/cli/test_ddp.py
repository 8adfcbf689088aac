"""Two processes learn the same as one."""

import csv
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from gpvae.metrics import read_foresight
from tests.cli.program import assert_same, run, run_here, weights, write_config

RUN = Path("runs/small/seed_3")
FIT = ["fit", "-c", "small.yaml"]
TWO = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
pytestmark = pytest.mark.slow


def scores(file: Path) -> dict[tuple[str, ...], float]:
    """Read all scores but the calibration error, which depends on random draws, and these on the batches."""
    with file.open() as rows:
        return {
            (row["after_task"], row["task"], row["metric"], row["variable"]): float(row["value"])
            for row in csv.DictReader(rows)
            if not row["metric"].startswith("ece")
        }


def foreseen(folder: Path) -> dict[tuple[object, ...], float]:
    """Read all prequential scores."""
    return {tuple(row[:4]): row.value for row in read_foresight(folder / "foresight.csv")}


def both(folder: Path, **sections: Any) -> tuple[Path, Path]:
    """Return the run folders of one process and of two."""
    one, two = folder / "one", folder / "two"
    for part in (one, two):
        part.mkdir()
        write_config(part, **sections)
    run_here(one, *FIT)
    result = run(two, *FIT, *TWO)
    assert result.returncode == 0, result.stderr
    return one / RUN, two / RUN


@pytest.mark.parametrize("batch_size", [None, 4])
def test_closed_form(batch_size: int | None, tmp_path: Path) -> None:
    one, two = both(tmp_path, data={"batch_size": batch_size})
    table = scores(one / "task_metrics.csv")
    assert len(table) == 9 * len(("nlpd", "rmse", "crps", "skill_persistence", "skill_variance"))
    assert scores(two / "task_metrics.csv") == pytest.approx(table, rel=1e-9, abs=1e-9)
    assert foreseen(two) == pytest.approx(foreseen(one), rel=1e-9, abs=1e-9)


def test_bank(tmp_path: Path) -> None:
    one, two = both(tmp_path, model={"method": "CosS", "hyperparameters": "bank", "bank_size": 4})
    table = scores(one / "task_metrics.csv")
    assert scores(two / "task_metrics.csv") == pytest.approx(table, rel=1e-6, abs=1e-6)
    assert foreseen(two) == pytest.approx(foreseen(one), rel=1e-6, abs=1e-6)
    first, second = (weights(folder / "checkpoints" / "last.ckpt") for folder in (one, two))
    assert sum("log_weights" in key for key in first) == 1
    assert_same(first, second)


def test_free_form_with_a_first_task_that_trains_the_kernel(tmp_path: Path) -> None:
    model = {"method": "OSVGP", "hyperparameters": "train_first_task"}
    one, two = both(tmp_path, model=model, data={"steps_per_epoch": 5})
    assert scores(two / "task_metrics.csv") == pytest.approx(scores(one / "task_metrics.csv"), rel=1e-6, abs=1e-6)
    first, last = (weights(two / "checkpoints" / f"task_0{task}.ckpt") for task in (1, 3))
    kernel = [key for key in first if "raw_" in key]
    assert len(kernel) >= 3
    assert_same({key: first[key] for key in kernel}, {key: last[key] for key in kernel})

    shutil.copy(two / "checkpoints" / "task_01.ckpt", tmp_path / "two" / "first.ckpt")
    again = run(tmp_path / "two", *FIT, *TWO, "--name", "again", "--ckpt_path", "first.ckpt")
    assert again.returncode == 0, again.stderr
    resumed = tmp_path / "two" / "runs" / "again" / "seed_3"
    assert (resumed / "task_metrics.csv").read_bytes() == (two / "task_metrics.csv").read_bytes()
    assert_same(*(weights(folder / "checkpoints" / "last.ckpt") for folder in (two, resumed)))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are listed in /proc, which is not here")
def test_no_thread_of_the_group_outlives_a_run(tmp_path: Path) -> None:
    """Such a thread could abort a process at its end, after all results are written."""
    write_config(tmp_path)
    code = (
        "from pathlib import Path; from gpvae.cli import main; main();"
        "print('left:', *(path.read_text() for path in Path('/proc/self/task').glob('*/comm')))"
    )
    args = [*FIT, "--trainer.devices", "1", "--trainer.strategy", "ddp"]
    result = run(tmp_path, *args, program=[sys.executable, "-c", code])
    assert result.returncode == 0, result.stderr
    assert "distributed_backend=gloo" in result.stderr
    assert "gloo" not in result.stdout.split("left:")[1]
