"""Two processes, started by torchrun, Lightning or SLURM, learn the same GP-VAE as one, resume and predict."""

import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lightning.fabric.plugins.environments.lightning import find_free_network_port

from gpvae.metrics import read_foresight
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from tests.cli.program import assert_same, run, run_here, script, weights, write_config

RUN = Path("runs/small/seed_3")
TWO = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
MODEL: dict[str, Any] = {
    "class_path": "SVGPVAE",
    "num_inducing": 10,
    "latent_dim": 4,
    "hidden_dim": 16,
    "consolidation": "both",
    "shared_precision": False,
}
DATA: dict[str, Any] = {
    "class_path": "ERA5",
    "points": 7,  # processes have different numbers of series
    "land_only": True,
    "num_tasks": 3,
    "hours_per_task": 30,
    "epochs_per_task": 2,
}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.ci
def test_two_processes_learn_resume_and_predict_as_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, batch_size in ((one, 4), (two, 2)):
        folder.mkdir()
        write_config(folder, model=MODEL, data=DATA | {"batch_size": batch_size})
    run_here(one, "fit", "-c", "small.yaml")
    torchrun = [script("torchrun"), "--standalone", "--nproc_per_node", "2", script("lightning")]
    fit = run(two, "fit", "-c", "small.yaml", *TWO, program=torchrun)
    assert fit.returncode == 0, fit.stderr
    assert fit.stdout.count("NLPD on each task") == 1
    expected = TaskTable.read(one / RUN / FILE_NAME).scores
    assert len(expected) == (6 + 3) * (7 * (1 + 17) + 17)  # four metrics and three skills; RMSE in units of each
    compared = {key: value for key, value in expected.items() if key[2].startswith(("skill", "rmse_physical"))}
    expected = {key: value for key, value in expected.items() if key not in compared}
    continuous = {key: value for key, value in expected.items() if not key[2].startswith("coverage")}
    found = TaskTable.read(two / RUN / FILE_NAME).scores
    assert {key: found.pop(key) for key in compared} == pytest.approx(compared, rel=1e-3, abs=1e-3)
    foresight = [
        {tuple(row[:4]): row.value for row in read_foresight(folder / RUN / "foresight.csv")} for folder in (one, two)
    ]
    assert foresight[1] == pytest.approx(foresight[0], rel=0.05, abs=0.05)
    assert {key: found[key] for key in continuous} == pytest.approx(continuous, abs=1e-4)
    assert found == pytest.approx(expected, abs=0.05)  # a value on the edge of an interval may change sides

    files = ["--name", "files", "--model.sites_folder", "sites", "--data.on_disk", "true"]
    assert run(two, "fit", "-c", "small.yaml", *TWO, *files, "--data.stop_after", "2").returncode == 0
    resumed = run(two, "fit", "-c", "small.yaml", *TWO, *files, "--ckpt_path", "last")
    assert resumed.returncode == 0, resumed.stderr
    ends = [two / "runs" / name / "seed_3" / "checkpoints" / "last.ckpt" for name in ("small", "files")]
    memory, disk = map(weights, ends)
    rows = {f"vae.posterior.{name}" for name in ("c", "h", "G")}
    assert {len(memory[name]) for name in rows} == {7}  # those of both processes
    disk.pop("vae.posterior.fingerprint")
    assert_same({name: value for name, value in memory.items() if name not in rows}, disk)
    kept = sorted(path.name for path in (two / "sites" / "task_03").iterdir())
    assert kept == [f"{name}.{process}_of_2" for name in "Gch" for process in range(2)]

    run_here(one, "predict", "-c", "small.yaml", "--ckpt_path", "last")
    with ThreadPoolExecutor(2) as pool:
        predict = ["predict", "-c", "small.yaml", "--ckpt_path", "last", *TWO]
        port = str(find_free_network_port())
        for done in pool.map(lambda process: run(two, *predict, **slurm_environment(process, port)), range(2)):
            assert done.returncode == 0, done.stderr
    assert_same_predictions(one / RUN, two / RUN)
    run_here(two, "predict", "-c", "small.yaml", *files, "--ckpt_path", "last")  # by one process, from files of two
    assert_same_predictions(one / RUN, two / "runs" / "files" / "seed_3")


def test_two_processes_learn_all_series_at_once_as_one_does(tmp_path: Path) -> None:
    write_config(tmp_path, model=MODEL, data=DATA | {"points": 5, "num_tasks": 2, "epochs_per_task": 5})
    run_here(tmp_path, "fit", "-c", "small.yaml")
    fit = run(tmp_path, "fit", "-c", "small.yaml", "--name", "two", *TWO)
    assert fit.returncode == 0, fit.stderr
    one, two = (weights(tmp_path / "runs" / name / "seed_3" / "checkpoints" / "last.ckpt") for name in ("small", "two"))
    assert one.keys() == two.keys()
    for name, value in one.items():
        if name == "vae.posterior.num_files":  # as many as there are processes
            continue
        np.testing.assert_allclose(two[name], value, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("options", [{}, {"latents": "field", "num_eofs": 5}], ids=str)
def test_two_processes_learn_in_closed_form_as_one_does_and_resume(options: dict[str, Any], tmp_path: Path) -> None:
    """Some values of the soil are missing, so that series have precisions of their own."""
    model = {"class_path": "SeriesGP", "num_inducing": 10, "periods": [24.0], **options}
    write_config(tmp_path, model=model, data=DATA | {"epochs_per_task": 1, "land_only": False})
    run_here(tmp_path, "fit", "-c", "small.yaml")
    for arguments in (["--data.stop_after", "2"], ["--ckpt_path", "last"]):
        fit = run(tmp_path, "fit", "-c", "small.yaml", "--name", "two", *TWO, *arguments)
        assert fit.returncode == 0, fit.stderr
    one, two = (weights(tmp_path / "runs" / name / "seed_3" / "checkpoints" / "last.ckpt") for name in ("small", "two"))
    assert one.keys() == two.keys()
    assert len(one["gp.posterior.h"]) == (1 if options else 7)
    for name, value in one.items():
        if name != "gp.posterior.num_files":  # as many as there are processes
            np.testing.assert_allclose(two[name], value, rtol=1e-6, atol=1e-8, err_msg=name)
    run_here(tmp_path, "predict", "-c", "small.yaml")
    assert run(tmp_path, "predict", "-c", "small.yaml", "--name", "two", *TWO).returncode == 0
    assert_same_predictions(tmp_path / RUN, tmp_path / "runs" / "two" / "seed_3")


@pytest.mark.ci
def test_two_processes_learn_and_predict_a_field_as_one_does(tmp_path: Path) -> None:
    field = MODEL | {"latents": "field", "consolidation": "both"}
    write_config(tmp_path, model=field, data=DATA | {"points": 5, "num_tasks": 2, "epochs_per_task": 5})
    run_here(tmp_path, "fit", "-c", "small.yaml")
    run_here(tmp_path, "predict", "-c", "small.yaml")
    for command in ("fit", "predict"):
        done = run(tmp_path, command, "-c", "small.yaml", "--name", "two", *TWO)
        assert done.returncode == 0, done.stderr
    one, two = (weights(tmp_path / "runs" / name / "seed_3" / "checkpoints" / "last.ckpt") for name in ("small", "two"))
    assert one.keys() == two.keys()
    for name, value in one.items():
        if name != "vae.posterior.num_files":  # as many as there are processes
            np.testing.assert_allclose(two[name], value, rtol=1e-6, atol=1e-6, err_msg=name)
    assert_same_predictions(tmp_path / "runs" / "small" / "seed_3", tmp_path / "runs" / "two" / "seed_3")


def test_two_processes_share_the_locations_of_a_field_that_one_learns(tmp_path: Path) -> None:
    """Some values of the soil are missing, and some locations are held out."""
    field = MODEL | {"latents": "field", "location_features": 5, "static_inputs": ["land", "sun"]}
    data = DATA | {"points": 12, "land_only": False, "num_tasks": 2, "epochs_per_task": 5, "test_locations": 3}
    write_config(tmp_path, model=field, data=data | {"batch_size": 4})
    run_here(tmp_path, "fit", "-c", "small.yaml")
    run_here(tmp_path, "predict", "-c", "small.yaml")
    for command in ("fit", "predict"):
        done = run(tmp_path, command, "-c", "small.yaml", "--name", "two", *TWO, "--data.batch_size", "2")
        assert done.returncode == 0, done.stderr
    one, two = (tmp_path / "runs" / name / "seed_3" for name in ("small", "two"))
    ours, theirs = (weights(folder / "checkpoints" / "last.ckpt") for folder in (one, two))
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if name != "vae.posterior.num_files":  # as many as there are processes
            np.testing.assert_allclose(theirs[name], value, rtol=1e-3, atol=1e-3, err_msg=name)
    assert_same_predictions(one, two)
    expected, found = (
        {
            tuple(row[:5]): float(row[5])
            for row in csv.reader((folder / "location_metrics.csv").open())
            if row[5] != "value"
        }
        for folder in (one, two)
    )
    expected = {key: value for key, value in expected.items() if key[3] != "coverage"}
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=0.02, abs=0.02)


def slurm_environment(process: int, port: str) -> dict[str, str]:
    """Return the variables that SLURM sets for each of two processes on one node."""
    job = {"JOB_ID": "77123", "JOB_NAME": "weather", "NODELIST": "localhost", "NODEID": "0"}
    tasks = {"NTASKS": "2", "NTASKS_PER_NODE": "2", "PROCID": str(process), "LOCALID": str(process)}
    return {"MASTER_PORT": port, **{f"SLURM_{name}": value for name, value in (job | tasks).items()}}


def assert_same_predictions(*folders: Path) -> None:
    ours, theirs = (xr.open_dataset(folder / "predictions.nc") for folder in folders)
    assert ours.sizes == theirs.sizes
    for name, values in ours.data_vars.items():
        if values.dtype.kind == "f":
            scale = float(values.std()) + 1e-12
            np.testing.assert_allclose(theirs[name] / scale, values / scale, atol=1e-3)
