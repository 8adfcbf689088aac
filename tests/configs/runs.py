"""Runs of the command line on the files in `configs/`, in the process of the test."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import datamodules
from datamodules.public_files import data_dir
from gpvae import cli
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.modules import StreamingGP

CONFIGS = Path(__file__).parent.parent.parent / "configs"
ALL = sorted(path.stem for path in CONFIGS.glob("*.yaml"))
NAMES = [name for name in ALL if not name.startswith(("era5", "own"))]
ERA5_NAMES = [name for name in ALL if name.startswith("era5")]
#: Tasks and None, for all tasks seen, that are scored after each of two tasks.
SCORED = {(1, 1), (1, None), (2, 1), (2, 2), (2, None)}
#: Warnings to expect with small tasks and few inducing variables.
EXPECTED_WARNINGS = (
    "ignore::gpvae.ResolutionWarning",
    "ignore::gpvae.utils.linalg.JitterWarning",
    "ignore::gpvae.HyperparameterWarning",
    "ignore::jsonargparse._deprecated.JsonargparseDeprecationWarning",  # Lightning uses its old interface
    "ignore:.*configure_optimizers. returned .None.:UserWarning",  # none is needed in closed form
)


def expect_warnings(test: Any) -> Any:  # noqa: ANN401
    """Ignore the warnings that runs of configs are expected to raise."""
    for warning in EXPECTED_WARNINGS:
        test = pytest.mark.filterwarnings(warning)(test)
    return test


def read(name: str) -> dict[str, Any]:
    """The content of a config."""
    return yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())


def arguments(name: str, part: str) -> dict[str, Any]:
    """Arguments of the model or the data of a config."""
    return read(name)[part].get("init_args", {})


class Run:
    """A finished run of a config.

    Args:
        folder: Folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table = TaskTable.read(folder / FILE_NAME)

    def model(self) -> StreamingGP:
        """The model as it was after the last task."""
        return StreamingGP.load_from_checkpoint(self.folder / "checkpoints" / "last.ckpt", weights_only=True)

    def final(self, metric: str) -> float:
        """The score over all tasks after the last one."""
        return float(self.table.seen(metric)[-1])


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, *overrides: str, seed: int = 1) -> Run:
    """Run `gpvae fit -c configs/<name>.yaml` in a folder; skip the test if the data are missing."""
    for file in getattr(datamodules, read(name)["data"]["class_path"]).files:
        if not (data_dir() / file).exists():
            pytest.skip(f"no {file} in {data_dir()}; tests do not download: set GPVAE_DATA_DIR")
    config = str(CONFIGS / f"{name}.yaml")
    command = ["gpvae", "fit", "-c", config, "--name", name, "--seed_everything", str(seed), *overrides]
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", command)
    cli.main()
    return Run(folder / "runs" / name / f"seed_{seed}")
