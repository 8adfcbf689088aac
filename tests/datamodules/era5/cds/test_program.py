"""The program downloads, is killed while it waits, and resumes the same jobs when it is started again."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
import yaml

from tests.cli.program import environment, refused, run, script, write_config
from tests.datamodules.era5.cds import faults
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.runs import OPTIONS, check_data, check_no_key, check_no_key_in_files
from tests.datamodules.era5.cds.server import Fault, Store

MODEL = {"class_path": "SVGPVAE", "num_inducing": 4, "latent_dim": 2, "hidden_dim": 4}
CONFIGURED = {**OPTIONS, "area": list(OPTIONS["area"]), "epochs_per_task": 1}
COMMAND = ["fit", "-c", "small.yaml", "--report.print_table", "false"]


def jobs_known(folder: Path) -> list[str]:
    return [json.loads(path.read_text())["job"] for path in folder.glob("era5_cds/*.json")]


@pytest.mark.filterwarnings("ignore")  # those of the program are not meant here
@pytest.mark.usefixtures("hurried", "_as_in_a_shell")
def test_refused(store: Store, tmp_path: Path) -> None:
    write_config(tmp_path, model=MODEL, data={"class_path": "ERA5", **CONFIGURED})
    store.faults = [Fault("post", faults.refuse(403, "required licences not accepted"))]
    error = refused(tmp_path, *COMMAND)
    assert error.startswith("error: The licence of ERA5 is not accepted yet: accept it at https://cds.climate")
    assert not (tmp_path / "runs").exists()


def test_killed_and_started_again(store: Store, weather: Weather, tmp_path: Path) -> None:
    write_config(tmp_path, model=MODEL, data={"class_path": "ERA5", **CONFIGURED})
    store.behaviour.states = [["running"]] * 2  # for ever
    process = subprocess.Popen(
        [script(), *COMMAND], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    give_up = time.monotonic() + 1000
    while process.poll() is None and time.monotonic() < give_up and None in [*jobs_known(tmp_path / "data"), None][:2]:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    output = process.communicate()[0].decode()
    assert process.returncode == -signal.SIGKILL, output
    assert sorted(jobs_known(tmp_path / "data")) == ["job-1", "job-2"], output
    store.repair()
    second = run(tmp_path, *COMMAND)
    assert second.returncode == 0, second.stderr
    assert "resuming job job-1" in second.stderr
    assert len(store.posts) == 2
    check_data(weather)
    folder = tmp_path / "runs" / "small" / "seed_3"
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert config["data"]["init_args"]["source"] == "cds"
    checkpoint = torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)
    check_no_key(output, second.stdout, second.stderr, str(config), str(checkpoint["datamodule_hyper_parameters"]))
    check_no_key_in_files(tmp_path)
