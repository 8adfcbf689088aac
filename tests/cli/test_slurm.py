"""Runs on a SLURM cluster do not save in the middle of a step."""

from pathlib import Path

import pytest
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment

from gpvae.cli.lightning_cli import StreamCLI, trainer_plugins
from tests.cli.program import write_config

SLURM = {"NTASKS": "1", "JOB_NAME": "job", "JOB_ID": "1", "PROCID": "0", "LOCALID": "0"}


@pytest.fixture
def on_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in SLURM.items():
        monkeypatch.setenv(f"SLURM_{variable}", value)


def test_plugins_are_unchanged_without_slurm() -> None:
    assert trainer_plugins(None) == []
    assert trainer_plugins("one") == ["one"]
    assert trainer_plugins(["one", "two"]) == ["one", "two"]


@pytest.mark.usefixtures("on_slurm")
def test_a_users_own_environment_is_kept() -> None:
    own = SLURMEnvironment()
    assert trainer_plugins([own]) == [own]


@pytest.mark.usefixtures("on_slurm")
def test_signals_do_not_save_in_the_middle_of_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning's handler does, even between the loss and the optimiser step."""
    write_config(tmp_path)
    monkeypatch.chdir(tmp_path)
    environments = []

    def record(cli: StreamCLI, subcommand: str) -> None:
        environments.append(cli.trainer._accelerator_connector.cluster_environment)

    monkeypatch.setattr(StreamCLI, "_run_subcommand", record)
    StreamCLI(["fit", "-c", "small.yaml"])
    (environment,) = environments
    assert isinstance(environment, SLURMEnvironment)
    assert not environment.auto_requeue
