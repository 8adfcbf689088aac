"""What the trainer does on a cluster."""

from pathlib import Path

import pytest
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment

from gpvae.cli.lightning_cli import StreamCLI
from gpvae.cli.slurm import trainer_plugins
from tests.cli.program import write_config

SLURM = {"NTASKS": "1", "JOB_NAME": "job", "JOB_ID": "1", "PROCID": "0", "LOCALID": "0"}


@pytest.fixture
def on_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in SLURM.items():
        monkeypatch.setenv(f"SLURM_{variable}", value)


def test_elsewhere_plugins_stay_as_they_are() -> None:
    assert trainer_plugins(None) == []
    assert trainer_plugins("one") == ["one"]
    assert trainer_plugins(["one", "two"]) == ["one", "two"]


@pytest.mark.usefixtures("on_slurm")
def test_a_users_own_environment_is_kept() -> None:
    own = SLURMEnvironment()
    assert trainer_plugins([own]) == [own]


@pytest.mark.usefixtures("on_slurm")
def test_no_signal_of_slurm_saves_in_the_midst_of_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning's handler does, between the loss and the optimiser, wherever the signal finds it."""
    write_config(tmp_path)
    monkeypatch.chdir(tmp_path)
    asked = []

    def remember(cli: StreamCLI, subcommand: str) -> None:
        asked.append(cli.trainer._accelerator_connector.cluster_environment)

    monkeypatch.setattr(StreamCLI, "_run_subcommand", remember)
    StreamCLI(["fit", "-c", "small.yaml"])
    (environment,) = asked
    assert isinstance(environment, SLURMEnvironment)
    assert not environment.auto_requeue
