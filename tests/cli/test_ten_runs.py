"""Ten tasks in one run, and in ten runs of the installed program as data appear, with kills, end with the same bits."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpvae.metrics import TaskTable
from tests.cli.program import assert_same, run, run_here, script, weights, write_config
from tests.cli.test_killed import kill_after
from tests.cli.test_new_data import DATA as SERIES_DATA
from tests.cli.test_new_data import MODEL as SERIES_MODEL
from tests.datamodules.era5.written import weather, write_new

NUM_TASKS = 10
RUN = Path("runs") / "small" / "seed_3"
FIT = ("fit", "-c", "small.yaml", "--ckpt_path", "last", "--report.print_table", "false")
OFTEN = ("--checkpoint.every_n_steps", "1")
DDP = ("--trainer.devices", "2", "--trainer.strategy", "ddp")
POINTS: dict[str, Any] = {"class_path": "DataTable", "paths": "*.csv", "points_per_task": 20}
#: Model and data; the second is learnt by Adam, the last keeps values and sites in files.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "closed form": ({"method": "OHSGPR"}, POINTS),
    "free form": ({"method": "OHSVGP"}, {**POINTS, "steps_per_epoch": 8, "batch_size": 5}),
    "series": (
        {**SERIES_MODEL, "consolidation": "replay", "sites_folder": "sites"},
        {**SERIES_DATA, "on_disk": True, "epochs_per_task": 3},
    ),
}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))


def start(folder: Path, case: str, **options: Any) -> Path:
    folder.mkdir()
    model, data = CASES[case]
    write_config(folder, model=model, data={**data, **options})
    return folder


def writer(case: str) -> Callable[[Path, int, int], object]:
    """Return a function that writes tasks to a folder, from the first of two numbers to before the second."""
    if case == "series":
        values = weather(20 * NUM_TASKS)
        return lambda folder, begin, end: write_new(
            values.isel(time=slice(20 * begin, 20 * end)), folder / f"{end:02d}.nc"
        )
    x = np.arange(20.0 * NUM_TASKS)
    rows = pd.DataFrame({"x": x, "y": np.sin(x / 5) + 0.1 * np.random.default_rng(0).standard_normal(len(x))})
    return lambda folder, begin, end: rows[20 * begin : 20 * end].to_csv(folder / f"{end:02d}.csv", index=False)


def last(folder: Path) -> dict[str, Any]:
    return weights(folder / RUN / "checkpoints" / "last.ckpt")


@pytest.mark.parametrize(
    "case", [*(case for case in CASES if case != "series"), pytest.param("series", marks=pytest.mark.ci)]
)
def test_ten_runs_with_kills_end_with_the_bits_of_one(case: str, tmp_path: Path) -> None:
    whole, grown = (start(tmp_path / name, case) for name in ("whole", "grown"))
    write = writer(case)
    write(whole, 0, NUM_TASKS)
    run_here(whole, *FIT)
    killed = []
    for task in range(NUM_TASKS):
        write(grown, task, task + 1)
        if task in (3, 6):
            killed.append(kill_after(1 + task // 6, grown, (*FIT, *OFTEN), RUN))
        if task > 1 and case != "series" and task not in (3, 6):
            run_here(grown, *FIT)  # which saves the time that imports take
        else:
            done = run(grown, *FIT)
            assert done.returncode == 0, done.stderr
        assert TaskTable.read(grown / RUN / "task_metrics.csv").num_tasks == task + 1
    assert case == "closed form" or any(killed)  # a task in closed form may be over before the signal arrives
    assert (whole / RUN / "task_metrics.csv").read_bytes() == (grown / RUN / "task_metrics.csv").read_bytes()
    assert_same(last(whole), last(grown))


@pytest.mark.parametrize("case", ["free form", "series"])
def test_two_processes_take_new_data_to_the_same_end(case: str, tmp_path: Path) -> None:
    whole, grown = (start(tmp_path / name, case, batch_size=2) for name in ("whole", "grown"))
    write = writer(case)
    write(whole, 0, 3)
    done = run(whole, *FIT, *DDP)
    assert done.returncode == 0, done.stderr
    for begin, end in ((0, 1), (1, 3)):
        write(grown, begin, end)
        done = run(grown, *FIT, *DDP)
        assert done.returncode == 0, done.stderr
    one, other = (TaskTable.read(folder / RUN / "task_metrics.csv").scores for folder in (whole, grown))
    assert other == pytest.approx(one, rel=1e-6, abs=1e-6)
    ours, theirs = last(whole), last(grown)
    assert ours.keys() == theirs.keys()
    for name in ours:
        if ours[name].is_floating_point():
            assert ours[name].numpy() == pytest.approx(theirs[name].numpy(), rel=1e-6, abs=1e-6), name


def test_processes_that_find_different_numbers_of_tasks_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Data that arrive while processes start, here by a file that only the second one is shown."""
    folder = start(tmp_path / "arriving", "closed form", paths="${SHOWN}.csv")
    write = writer("closed form")
    write(folder, 0, 1)
    write(folder, 0, 2)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    program = [*torchrun, "--no-python", "bash", "-c"]
    command = f"SHOWN=0$((LOCAL_RANK + 1)) {script()} {' '.join((*FIT, *DDP))}"
    done = run(folder, command, program=program, seconds=600)
    assert done.returncode != 0
    assert "the processes have found 1, 2 tasks: data have arrived while they were starting" in done.stderr
