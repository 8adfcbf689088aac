"""Two processes learn the GP-VAE that one does, resume it and predict with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from gpvae.metrics.task_table import FILE_NAME, TaskTable
from tests.cli.program import assert_same, run, run_here, weights, write_config

RUN = Path("runs/small/seed_3")
TWO = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
MODEL: dict[str, Any] = {
    "class_path": "SVGPVAE",
    "num_inducing": 10,
    "latent_dim": 4,
    "hidden_dim": 16,
    "consolidation": "both",
}
DATA: dict[str, Any] = {
    "class_path": "ERA5",
    "points": 7,  # so that processes have unequal shares
    "land_only": True,
    "num_tasks": 3,
    "hours_per_task": 30,
    "epochs_per_task": 2,
}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_two_processes_learn_resume_and_predict_as_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, batch_size in ((one, 4), (two, 2)):
        folder.mkdir()
        write_config(folder, model=MODEL, data=DATA | {"batch_size": batch_size})
    run_here(one, "fit", "-c", "small.yaml")
    fit = run(two, "fit", "-c", "small.yaml", *TWO)
    assert fit.returncode == 0, fit.stderr
    expected = TaskTable.read(one / RUN / FILE_NAME).scores
    assert len(expected) == 3 * (6 + 3) * (1 + 17)
    continuous = {key: value for key, value in expected.items() if not key[2].startswith("coverage")}
    found = TaskTable.read(two / RUN / FILE_NAME).scores
    assert {key: found[key] for key in continuous} == pytest.approx(continuous, abs=1e-4)
    assert found == pytest.approx(expected, abs=0.05)  # a value on the edge of an interval may change sides

    stopped = ["--name", "stopped", "--data.stop_after", "2"]
    assert run(two, "fit", "-c", "small.yaml", *TWO, *stopped).returncode == 0
    resumed = run(two, "fit", "-c", "small.yaml", *TWO, "--name", "stopped", "--ckpt_path", "last")
    assert resumed.returncode == 0, resumed.stderr
    ends = [two / "runs" / name / "seed_3" / "checkpoints" / "last.ckpt" for name in ("small", "stopped")]
    assert_same(*map(weights, ends))

    run_here(one, "predict", "-c", "small.yaml", "--ckpt_path", "last")
    predict = run(two, "predict", "-c", "small.yaml", "--ckpt_path", "last", *TWO)
    assert predict.returncode == 0, predict.stderr
    with xr.open_dataset(one / RUN / "predictions.nc") as ours, xr.open_dataset(two / RUN / "predictions.nc") as theirs:
        assert ours.sizes == theirs.sizes
        for name, values in ours.data_vars.items():
            if values.dtype.kind == "f":
                scale = float(values.std()) + 1e-12
                np.testing.assert_allclose(theirs[name] / scale, values / scale, atol=1e-3)
